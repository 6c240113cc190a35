/** `pack`: prints the most useful parts of a repository memory, within a budget. */

import { EXIT, type Invocation } from '../command-types.ts'
import { visible } from '../output/visible-text.ts'
import { openMemory } from '../places.ts'

const DEFAULT_MAX_CHARS = 8000

export async function run(invocation: Invocation): Promise<0 | 1> {
  const { options, output, signal } = invocation
  const memory = await openMemory(invocation)
  const hasMap = options.map === true || options.focus !== undefined
  const maxChars = options.maxChars ?? DEFAULT_MAX_CHARS
  const { text, ...contents } = await memory.contextPack(maxChars, {
    query: options.query,
    latestSummaries: options.summaries,
    repoMap: hasMap ? { focus: options.focus } : false,
    signal,
  })
  const document = { text, chars: text.length, maxChars, repoHash: memory.repoHash, ...contents }
  await output.document(document, () =>
    text === ''
      ? Promise.resolve(output.note('Nothing is known about this repository yet.'))
      : output.line(visible(text.trimEnd())),
  )
  return text === '' ? EXIT.nothing : EXIT.done
}
