/** `read_context_slice`: the tool that reads a part of a stored output. */

import { Buffer } from 'node:buffer'
import { inspect } from '../arguments/errors.ts'
import type { ContextSlice, GrepOptions, SliceOptions } from '../manager/retrieval-types.ts'
import { defineTool } from './define-tool.ts'
import { callOf, describeOutcome, explainFailure, frame, given } from './stored-text.ts'
import { execute, failure, readParameters, readText, readWhole, WrongParameters } from './tool-parameters.ts'
import type { ToolSettings } from './tool-settings.ts'
import type { ToolDefinition, ToolResult } from './types.ts'

const MAXIMUM_TEXT = 500
/** The largest size of the text around the part, in bytes. */
const FRAME_BYTES = 1200
/** Parameters larger than this are not repeated in the suggested next call, in bytes. */
const NEXT_BYTES = 500
/** The largest size of a character, and therefore the smallest part that is requested, in bytes. */
const LEAST_BYTES = 4
const NO_LIMIT = Number.MAX_SAFE_INTEGER

/** The arguments that the model passes to `read_context_slice`. */
export interface ReadContextSliceParameters {
  /** The output: an id from a placeholder, `list_contexts` or `search_contexts`. */
  id: string
  /** The first line, from 1; with `grep`, the line at which the search starts. */
  from_line?: number
  /** The last line. */
  to_line?: number
  /** The first byte, from 0; with `grep`, the byte offset in the text at which the search starts, within the line `from_line`. */
  from_byte?: number
  /** The end of the range in bytes, exclusive. */
  to_byte?: number
  /** A regular expression: reads the lines that match it. */
  grep?: string
  /** A JSON path into the output. */
  json_path?: string
  /** The largest number of bytes to read. */
  max_bytes?: number
}

/** The methods of a manager that `read_context_slice` uses. */
export interface SliceSource {
  readContext(filepath: string, options?: SliceOptions | null): Promise<ContextSlice>
}

/** The parameters of the call, which the suggested next call repeats. */
type Parameters = { -readonly [Name in keyof ReadContextSliceParameters]?: ReadContextSliceParameters[Name] }

export function readContextSliceTool<Prefix extends string>(
  source: SliceSource,
  { maxBytes, sessions, prefix }: ToolSettings<Prefix>,
): ToolDefinition<ReadContextSliceParameters, string, `${Prefix}read_context_slice`> {
  const text = (description: string) => ({
    type: 'string' as const,
    minLength: 1,
    maxLength: MAXIMUM_TEXT,
    description,
  })
  return defineTool({
    name: `${prefix}read_context_slice`,
    description:
      'Read a part of a stored tool output: lines, bytes, the lines that match a regular expression, or what a JSON path finds. Without any of those, its beginning.',
    parameters: {
      type: 'object',
      properties: {
        id: text(`The output: an id from a placeholder (ctx_…), ${prefix}list_contexts or ${prefix}search_contexts.`),
        from_line: { type: 'integer', minimum: 1, description: 'The first line, from 1. With grep: where to begin.' },
        to_line: { type: 'integer', minimum: 1, description: 'The last line.' },
        from_byte: {
          type: 'integer',
          minimum: 0,
          description: 'The first byte, from 0: for long lines, and for images and files, which are given as base64.',
        },
        to_byte: { type: 'integer', minimum: 0, description: 'The byte before which to end.' },
        grep: text(
          'Lines that match this regular expression: no look-around, no back references; (?i) ignores upper and lower case.',
        ),
        json_path: text('A JSON path (RFC 9535) such as $.items[0:5].name. The rest applies to what it finds.'),
        max_bytes: {
          type: 'integer',
          minimum: LEAST_BYTES,
          maximum: maxBytes,
          description: 'At most so many bytes of text.',
        },
      },
      required: ['id'],
      additionalProperties: false,
    },
    examples: [
      {
        description: 'Read the lines around a place',
        input: { id: 'ctx_1f2e3d4c5b6a7988', from_line: 400, to_line: 402 },
        output:
          '[Bytes 16200 to 16275 of 48213, lines 400 to 402 of 1204. …]\n<stored-output-…>\nfunction refreshSession(token: string) {\n  return renew(token)\n}\n</stored-output-…>',
      },
      {
        description: 'Find lines',
        input: { id: 'ctx_1f2e3d4c5b6a7988', grep: '(?i)deprecated' },
        output: '[1 match in 1204 lines. …]\n<stored-output-…>\n17:// deprecated: renew\n</stored-output-…>',
      },
    ],
    execute(parameters, options) {
      let call: Parameters | undefined
      return execute(
        options,
        async (signal) => {
          const read = readCall(parameters, maxBytes, prefix)
          call = read
          return readSlice(source, read, { maxBytes, sessions, prefix }, signal)
        },
        (error) => explainFailure(error, call?.id, hint(call), prefix),
      )
    },
  })
}

function readCall(parameters: unknown, maxBytes: number, prefix: string): Parameters & { id: string } {
  const read = readParameters<ReadContextSliceParameters>(
    `${prefix}read_context_slice`,
    parameters,
    ['id', 'from_line', 'to_line', 'from_byte', 'to_byte', 'grep', 'json_path', 'max_bytes'],
    '{"id": "ctx_1f2e3d4c5b6a7988", "from_line": 1}',
  )
  const id = readText(read.id, 'id', 'ctx_1f2e3d4c5b6a7988', MAXIMUM_TEXT)
  if (id === undefined) {
    throw new WrongParameters(
      `id is missing: pass one from a placeholder, or call ${prefix}list_contexts for those that there are.`,
    )
  }
  const call: Record<string, unknown> = {
    id,
    json_path: readText(read.json_path, 'json_path', '$.items[0]', MAXIMUM_TEXT),
    grep: readText(read.grep, 'grep', 'error|warning', MAXIMUM_TEXT),
    from_line: readWhole(read.from_line, 'from_line', 1, NO_LIMIT),
    to_line: readWhole(read.to_line, 'to_line', 1, NO_LIMIT),
    from_byte: readWhole(read.from_byte, 'from_byte', 0, NO_LIMIT),
    to_byte: readWhole(read.to_byte, 'to_byte', 0, NO_LIMIT),
    max_bytes: readWhole(read.max_bytes, 'max_bytes', LEAST_BYTES, maxBytes),
  }
  for (const name of Object.keys(call).filter((key) => call[key] === undefined)) {
    delete call[name]
  }
  if (!('grep' in call)) {
    refuseTogether(call, 'from_byte', ['from_line', 'to_line'])
  }
  refuseTogether(call, 'to_byte', ['from_line', 'to_line', 'grep'])
  refuseTogether(call, 'to_line', ['grep'])
  for (const unit of ['line', 'byte']) {
    const [from, to] = [call[`from_${unit}`], call[`to_${unit}`]]
    if (Number(from) > Number(to)) {
      throw new WrongParameters(`from_${unit} (${from}) comes after to_${unit} (${to}).`)
    }
  }
  return call as Parameters & { id: string }
}

function refuseTogether(call: Record<string, unknown>, name: string, others: readonly string[]): void {
  const other = others.find((key) => key in call)
  if (name in call && other !== undefined) {
    throw new WrongParameters(`${name} and ${other} exclude each other: pass one of them.`)
  }
}

async function readSlice(
  source: SliceSource,
  call: Parameters & { id: string },
  { maxBytes, sessions, prefix }: ToolSettings,
  signal: AbortSignal | undefined,
): Promise<ToolResult<string>> {
  const room = maxBytes - FRAME_BYTES
  for (let bytes = Math.min(call.max_bytes ?? room, room); ; ) {
    const slice = await source.readContext(call.id, {
      ...sliceOptions(call),
      ...(signal === undefined ? {} : { signal }),
      sessions,
      maxBytes: bytes,
    })
    if (isNothing(slice)) {
      return failure(nothingFound(slice, call))
    }
    const text = compose(slice, call, prefix)
    const size = Buffer.byteLength(text)
    if (size <= maxBytes || bytes === LEAST_BYTES) {
      return given(`${summary(slice)}.`, text)
    }
    // Escaped invisible characters take more bytes than the stored text: tries again with a smaller part.
    bytes = Math.max(LEAST_BYTES, Math.floor(Math.min(bytes / 2, (bytes * maxBytes) / size)))
  }
}

function sliceOptions(call: Parameters): SliceOptions {
  const options: SliceOptions = {}
  if (call.json_path !== undefined) {
    options.jsonPath = call.json_path
  }
  if (call.grep !== undefined) {
    const grep: GrepOptions = { pattern: call.grep }
    if (call.from_line !== undefined) {
      grep.from = call.from_line
    }
    if (call.from_byte !== undefined) {
      grep.fromByte = call.from_byte
    }
    options.grep = grep
  } else if (call.from_line !== undefined || call.to_line !== undefined) {
    options.lines = {
      ...(call.from_line === undefined ? {} : { from: call.from_line }),
      ...(call.to_line === undefined ? {} : { to: call.to_line }),
    }
  } else if (call.from_byte !== undefined || call.to_byte !== undefined) {
    options.bytes = {
      ...(call.from_byte === undefined ? {} : { from: call.from_byte }),
      ...(call.to_byte === undefined ? {} : { to: call.to_byte }),
    }
  }
  return options
}

/** The suggested next call: the parameters of this one with the changes in `next`. */
function nextCall(call: Parameters, next: SliceOptions): Parameters {
  const { from_line: _line, to_line: _lastLine, from_byte: _byte, to_byte: _lastByte, ...rest } = call
  const grep = typeof next.grep === 'object' ? (next.grep as GrepOptions | null) : undefined
  const places = {
    from_line: grep?.from ?? next.lines?.from,
    to_line: next.lines?.to,
    from_byte: grep?.fromByte ?? next.bytes?.from,
    to_byte: next.bytes?.to,
  }
  const present = Object.entries(places).filter(([, place]) => typeof place === 'number')
  return { ...rest, ...(Object.fromEntries(present) as Parameters) }
}

function isNothing({ text, matches, paths }: ContextSlice): boolean {
  return matches?.length === 0 || paths?.length === 0 || (text === '' && matches === undefined && paths === undefined)
}

function nothingFound({ totalBytes, totalLines }: ContextSlice, call: Parameters): string {
  const whole = totalLines === undefined ? `${totalBytes} bytes` : `${totalBytes} bytes in ${totalLines} lines`
  if (call.grep !== undefined) {
    const after = call.from_line === undefined ? '' : ` from line ${call.from_line} on`
    return `No line${after} matches ${inspect(call.grep)}. Try another expression, or (?i) to ignore upper and lower case.`
  }
  if (call.json_path !== undefined) {
    return `${inspect(call.json_path)} finds nothing in it. Read its beginning, without json_path, to see which keys there are.`
  }
  return totalBytes === 0 ? 'The output is empty.' : `There is nothing in that place: the output has ${whole}.`
}

function compose(slice: ContextSlice, call: Parameters, prefix: string): string {
  // The call's message is data of a tool and is shown between the tags.
  const outcome = describeOutcome(withoutSaid(slice)).join(' | ')
  const said = outcome === '' ? '' : `(${outcome})\n`
  return frame(
    `${summary(slice)}.`,
    `${said}${body(slice)}`,
    slice.next === undefined ? undefined : goingOn(call, slice.next, prefix),
  )
}

/** Removes the error and the message where the text already consists of them, because the call has no result. */
function withoutSaid({
  success,
  error,
  message,
  exitCode,
  text,
}: ContextSlice): Pick<ContextSlice, 'success' | 'error' | 'message' | 'exitCode'> {
  return {
    ...(success === undefined ? {} : { success }),
    ...(exitCode === undefined ? {} : { exitCode }),
    ...(error === undefined || text.includes(error) ? {} : { error }),
    ...(message === undefined || text.includes(message) ? {} : { message }),
  }
}

function goingOn(call: Parameters, next: SliceOptions, prefix: string): string {
  const parameters = nextCall(call, next)
  const whole = callOf(`${prefix}read_context_slice`, parameters)
  if (Buffer.byteLength(whole) <= NEXT_BYTES) {
    return `More: ${whole}`
  }
  const { id: _id, json_path: _path, grep: _grep, max_bytes: _bytes, ...changed } = parameters
  return `More: the same call with ${JSON.stringify(changed)}`
}

/** The text of the part, with the paths of its values if there are several. The text of `grep` already has line numbers. */
function body({ text, matches, paths }: ContextSlice): string {
  const values = (text.endsWith('\n') ? text.slice(0, -1) : text).split('\n')
  if (matches !== undefined || paths === undefined || paths.length < 2 || paths.length !== values.length) {
    return text
  }
  return values.map((value, index) => `${paths[index]}: ${value}`).join('\n')
}

function summary({ lines, bytes, matches, paths, totalBytes, totalLines, encoding, mediaType }: ContextSlice): string {
  if (encoding !== undefined && bytes !== undefined) {
    return `Bytes ${bytes.from} to ${bytes.to} of ${totalBytes} of ${mediaType}, as ${encoding}`
  }
  if (matches !== undefined) {
    const among = totalLines === undefined ? '' : ` in ${totalLines} ${totalLines === 1 ? 'line' : 'lines'}`
    return `${matches.length} ${matches.length === 1 ? 'match' : 'matches'}${among}`
  }
  if (paths !== undefined && paths.length !== 1) {
    return `${paths.length} values`
  }
  const ofLines =
    lines === undefined
      ? ''
      : `, lines ${lines.from} to ${lines.to}${totalLines === undefined ? '' : ` of ${totalLines}`}`
  const ofBytes = bytes === undefined ? `${totalBytes} bytes` : `Bytes ${bytes.from} to ${bytes.to} of ${totalBytes}`
  return ofBytes + ofLines
}

function hint(call: Parameters | undefined): string {
  if (call?.grep !== undefined) {
    return 'In grep, ( ) [ ] { } . * + ? | ^ $ and \\ have a meaning: a backslash before one takes it literally. There is no look-around and there are no back references.'
  }
  return call?.json_path === undefined
    ? 'Call it with other parameters.'
    : 'A JSON path begins with $, such as $.items[0].name.'
}
