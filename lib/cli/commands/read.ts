/** `read`: a part of an output. */

import type { ContextManager, ContextSlice, SliceOptions } from '../../index.ts'
import { EXIT, type Invocation } from '../command-types.ts'
import { CliError } from '../failures.ts'
import { OPTIONS, type OptionName } from '../options.ts'
import { visible, visibleLine } from '../output/visible-text.ts'
import { locateOutput } from '../outputs.ts'
import { openManager } from '../places.ts'

const WHOLE_BYTES = 1024 * 1024

export async function run(invocation: Invocation): Promise<0 | 1> {
  const { options, output, signal } = invocation
  const slice = sliceOf(invocation)
  const manager = await openManager(invocation)
  const path = await locateOutput(manager, invocation.argument('output'), invocation)
  if (options.whole === true && output.mode === 'text') {
    return printWhole(invocation, manager, path, slice)
  }
  const { next, ...part } = await manager.readContext(path, { ...slice, signal })
  // The pattern of `next` is what was given; a program passes the rest.
  await output.document({ ...part, isWhole: next === undefined }, async () => {
    await printText(invocation, part)
    if (next !== undefined) {
      output.note(output.errorStyle.dim(`${whatIsShown(part)} Go on with: ${commandFor(invocation, next)}`))
    }
  })
  return isEmptySearch(options, part) ? EXIT.nothing : EXIT.done
}

async function printWhole(
  invocation: Invocation,
  manager: ContextManager,
  path: string,
  slice: SliceOptions,
): Promise<0 | 1> {
  let isFirst = true
  let exit: 0 | 1 = EXIT.done
  for (let next: SliceOptions | undefined = { maxBytes: WHOLE_BYTES, ...slice }; next !== undefined; ) {
    const part: ContextSlice = await manager.readContext(path, { ...next, signal: invocation.signal })
    next = part.next
    exit = isFirst && isEmptySearch(invocation.options, part) ? EXIT.nothing : exit
    isFirst = false
    await printText(invocation, part, next === undefined)
  }
  return exit
}

/** Lines end with a line feed on a terminal; raw text stays unchanged. */
async function printText({ options, output }: Invocation, { text }: { text: string }, isLast = true): Promise<void> {
  if (options.raw === true) {
    await output.write(text)
  } else {
    await output.write(isLast && text !== '' && !text.endsWith('\n') ? `${visible(text)}\n` : visible(text))
  }
}

function isEmptySearch(options: Invocation['options'], { text }: { text: string }): boolean {
  return text === '' && (options.grep !== undefined || options.jsonPath !== undefined)
}

function sliceOf({ options }: Invocation): SliceOptions {
  const given = (['lines', 'bytes', 'grep'] as const).filter((name) => options[name] !== undefined)
  if (given.length > 1) {
    throw new CliError(`${given.map(flag).join(' and ')} exclude each other`, EXIT.usage)
  }
  if (options.grep === undefined) {
    const needing = (['ignoreCase', 'context', 'before', 'after'] as const).find((name) => options[name] !== undefined)
    if (needing !== undefined) {
      throw new CliError(`${flag(needing)} can be given only with ${flag('grep')}`, EXIT.usage)
    }
  }
  return {
    lines: options.lines,
    bytes: options.bytes,
    jsonPath: options.jsonPath,
    maxBytes: options.maxBytes,
    grep:
      options.grep === undefined
        ? undefined
        : {
            pattern: options.grep,
            ignoreCase: options.ignoreCase,
            before: options.before ?? options.context,
            after: options.after ?? options.context,
          },
  }
}

const flag = (name: OptionName): string => /--[\w-]+/.exec(OPTIONS[name].flags)?.[0] ?? name

function whatIsShown({ bytes, totalBytes, lines, totalLines }: Omit<ContextSlice, 'next'>): string {
  if (lines !== undefined) {
    return `Lines ${lines.from} to ${lines.to} of ${totalLines}.`
  }
  return bytes === undefined ? '' : `Bytes ${bytes.from} to ${bytes.to} of ${totalBytes}.`
}

function commandFor(invocation: Invocation, next: SliceOptions): string {
  const id = visibleLine(invocation.argument('output'))
  if (next.lines) {
    return `agent-context read ${id} --lines ${next.lines.from ?? ''}:${next.lines.to ?? ''}`
  }
  if (next.bytes) {
    return `agent-context read ${id} --bytes ${next.bytes.from ?? ''}:${next.bytes.to ?? ''}`
  }
  return `the same command and --whole`
}
