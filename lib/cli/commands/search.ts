/** `search`: searches the stored outputs. */

import type { SearchHit, SearchSnippet, TaskId } from '../../index.ts'
import { EXIT, type Invocation } from '../command-types.ts'
import type { Style } from '../output/style.ts'
import { formatTime } from '../output/units.ts'
import { visibleLine } from '../output/visible-text.ts'
import { identifierOf, timeOf } from '../outputs.ts'
import { openManager } from '../places.ts'

const DEFAULT_LIMIT = 20
/** "all": as many as a search takes. */
const MOST = 100_000

type Hit = SearchHit<TaskId>

export async function run(invocation: Invocation): Promise<0 | 1> {
  const { options, output, signal } = invocation
  const manager = await openManager(invocation)
  const limit = Math.min(options.limit ?? DEFAULT_LIMIT, MOST)
  const items: Hit[] = await manager.search(invocation.argumentList('words').join(' '), {
    sessions: options.session === undefined ? 'all' : [options.session],
    toolName: options.tool,
    since: timeOf(options.since),
    until: timeOf(options.until),
    limit,
    explain: options.explain,
    signal,
  })
  if (output.mode !== 'text') {
    await output.list({ items, columns: [], empty: '' })
  } else if (items.length === 0) {
    output.note('Nothing found.')
  } else if (output.isTerminal) {
    await printForPeople(invocation, items)
  } else {
    await output.lines(items.flatMap(plainLines))
  }
  return items.length === 0 ? EXIT.nothing : EXIT.done
}

/** `id:line:text`, as in ripgrep. A hit without snippets has its description as the text. Explanations have no line number. */
function plainLines(hit: Hit): string[] {
  const id = identifierOf(hit)
  const reason = hit.explain === undefined ? [] : [`${id}::${reasonOf(hit)}`]
  return hit.snippets.length === 0
    ? [...reason, `${id}::${visibleLine(hit.toolDescription)}`]
    : [...reason, ...hit.snippets.map(({ line, text }) => `${id}:${line ?? ''}:${visibleLine(text.trim())}`)]
}

async function printForPeople({ output }: Invocation, hits: readonly Hit[]): Promise<void> {
  const { bold, cyan, dim, green } = output.style
  for (const hit of hits) {
    const time = formatTime(hit.timestamp, true)
    await output.line(`${cyan(identifierOf(hit))}  ${bold(visibleLine(hit.toolDescription))}  ${dim(time)}`)
    if (hit.explain !== undefined) {
      await output.line(dim(reasonOf(hit)))
    }
    for (const snippet of hit.snippets) {
      const place = snippet.line === undefined ? snippet.field : String(snippet.line)
      await output.line(`${green(place)}: ${marked(snippet, output.style)}`)
    }
    await output.line()
  }
}

/** `score 0.62: token 80 % in name and result, expire 20 % in result`. */
function reasonOf({ score, matchedBy, explain = [] }: Hit): string {
  const terms = explain.map(
    ({ term, fields, share }) => `${visibleLine(term)} ${Math.round(100 * share)} % in ${fields.join(' and ')}`,
  )
  const similar = matchedBy === 'fuzzy' ? ' by similar words' : ''
  return `score ${score.toFixed(2)}${similar}${terms.length === 0 ? '' : `: ${terms.join(', ')}`}`
}

function marked({ text, matches }: SearchSnippet, style: Style): string {
  let shown = ''
  let from = 0
  for (const [start, end] of matches) {
    shown += visibleLine(text.slice(from, start)) + style.bold(style.red(visibleLine(text.slice(start, end))))
    from = end
  }
  return shown + visibleLine(text.slice(from))
}
