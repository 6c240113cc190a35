/** `context_read`: the tool that reads an entry, or a part of a long one. */

import { Buffer } from 'node:buffer'
import type { StoreEntry } from '../store/types.ts'
import { defineTool } from './define-tool.ts'
import { ENTRY_NOTE, EXAMPLE_PATH, explainStoreFailure, MAXIMUM_PATH, readPath, textSchema } from './store-tool.ts'
import { callOf, frame, given, inLine } from './stored-text.ts'
import { execute, failure, readParameters, readWhole } from './tool-parameters.ts'
import type { ToolDefinition, ToolResult } from './types.ts'

/** The approximate size of the text around the content, in bytes. */
const FRAME_BYTES = 800
/** The largest size of a character, and therefore the smallest part that is requested, in UTF-16 code units. */
const LEAST_LENGTH = 2
const LINE_BYTES = 300
const SHOWN_CHANGES = 5
const CHANGE_BYTES = 160

/** The arguments that the model passes to `context_read`. */
export interface ContextReadParameters {
  /** The path of the entry, as `context_search` and links show it. */
  path: string
  /**
   * The offset in the content at which to start, in UTF-16 code units.
   * @default 0
   */
  offset?: number
}

/** The methods of a store that `context_read` uses. */
export interface StoreReadSource {
  read(path: string): Promise<StoreEntry>
}

export function contextReadTool(
  source: StoreReadSource,
  maxBytes: number,
): ToolDefinition<ContextReadParameters, string, 'context_read'> {
  return defineTool({
    name: 'context_read',
    description:
      'Read a stored entry: what it is, its tags, links and changes, and its text. Follow links with further calls.',
    parameters: {
      type: 'object',
      properties: {
        path: textSchema('The entry: a path from context_search or from the links of another entry.', MAXIMUM_PATH),
        offset: {
          type: 'integer',
          minimum: 0,
          default: 0,
          description: 'Where in the text to begin, in characters, to go on with a long one.',
        },
      },
      required: ['path'],
      additionalProperties: false,
    },
    examples: [
      {
        description: 'Read a finding',
        input: { path: EXAMPLE_PATH },
        output:
          '[Characters 0 to 93 of 93. …]\n<stored-output-…>\ntype: finding\nagent: code-reviewer\nwritten: 2026-02-21T14:30:22Z\ntags: security, authentication\n\n# Tokens are compared with ==\n…\n</stored-output-…>\n[Revision 1f2e3d4c5b6a7988.]',
      },
    ],
    execute(parameters, options) {
      let path: string | undefined
      return execute(
        options,
        async () => {
          const read = readParameters<ContextReadParameters>(
            'context_read',
            parameters,
            ['path', 'offset'],
            JSON.stringify({ path: EXAMPLE_PATH }),
          )
          path = readPath(read.path)
          const offset = readWhole(read.offset, 'offset', 0, Number.MAX_SAFE_INTEGER) ?? 0
          return show(await source.read(path), offset, maxBytes)
        },
        (error) => explainStoreFailure(error, path),
      )
    },
  })
}

function show(entry: StoreEntry, offset: number, maxBytes: number): ToolResult<string> {
  const { content } = entry
  if (offset > 0 && offset >= content.length) {
    return failure(`There is nothing from character ${offset} on: the text has ${content.length}.`)
  }
  const start = border(content, offset)
  for (let length = maxBytes - FRAME_BYTES; ; ) {
    const end = border(content, Math.min(content.length, start + length))
    const text = compose(entry, start, end)
    const size = Buffer.byteLength(text)
    if (size <= maxBytes || length === LEAST_LENGTH) {
      return given(`${placeOf(entry, start, end)}.`, text)
    }
    // Characters beyond ASCII and escaped invisible characters take more bytes: tries again with a smaller part.
    length = Math.max(LEAST_LENGTH, Math.floor(Math.min(length - 1, ((end - start) * maxBytes) / size, length * 0.9)))
  }
}

/** Moves a position inside a surrogate pair to the start of the character. */
function border(text: string, position: number): number {
  const unit = text.charCodeAt(position)
  const before = text.charCodeAt(position - 1)
  return unit >= 0xdc00 && unit <= 0xdfff && before >= 0xd800 && before <= 0xdbff ? position - 1 : position
}

function placeOf({ content }: StoreEntry, start: number, end: number): string {
  return `Characters ${start} to ${end} of ${content.length}`
}

function compose(entry: StoreEntry, start: number, end: number): string {
  const { content, path, revision } = entry
  const parts = [content.slice(start, end)]
  if (start === 0) {
    parts.unshift(`${heading(entry)}\n`)
  }
  if (end === content.length && entry.changelog.length > 0) {
    parts.push(`\n${changes(entry)}`)
  }
  const more = end < content.length ? ` More: ${inLine(callOf('context_read', { path, offset: end }))}` : ''
  return frame(`${placeOf(entry, start, end)}.`, parts.join('\n'), `Revision ${revision}.${more}`, ENTRY_NOTE)
}

function heading({ type, agent, sessionId, timestamp, tags, links, supersededBy }: StoreEntry): string {
  const members: [string, string | undefined][] = [
    ['type', type],
    ['agent', agent],
    ['session', sessionId],
    ['written', timestamp],
    ['tags', tags.join(', ') || undefined],
    ['links', links.join(', ') || undefined],
    ['superseded by', supersededBy],
  ]
  return members
    .flatMap(([name, value]) => (value === undefined ? [] : [`${name}: ${inLine(value, LINE_BYTES)}`]))
    .join('\n')
}

function changes({ changelog }: StoreEntry): string {
  const shown = changelog.slice(-SHOWN_CHANGES)
  const leftOut = changelog.length - shown.length
  return [
    leftOut === 0 ? 'changes:' : `the last ${shown.length} of ${changelog.length} changes:`,
    ...shown.map(({ timestamp, agent, description }) =>
      inLine(`- ${timestamp} [${agent}]: ${description}`, CHANGE_BYTES),
    ),
  ].join('\n')
}
