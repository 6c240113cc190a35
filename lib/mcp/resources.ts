/** Resources: the memory, the latest history, counts, and every stored output and entry by its address. */

import {
  type ListResourcesResult,
  ProtocolError,
  ProtocolErrorCode,
  type ReadResourceResult,
  type Resource,
  ResourceNotFoundError,
} from '@modelcontextprotocol/server'
import type { ContextPointer, SliceOptions, SliceRange } from '../index.ts'
import { frame } from '../tools/stored-text.ts'
import type { Stores } from './stores.ts'

const SCHEME = 'agent-context://'
const PAGE = 100
/** With its escapes and its frame, a slice of so many bytes is within the bound of an answer. */
const SLICE_BYTES = [12 * 1024, 6 * 1024, 2048] as const
const MOST_ANSWER_BYTES = 16 * 1024
const RECENT = 20

export const FIXED_RESOURCES: readonly Resource[] = [
  {
    uri: `${SCHEME}memory`,
    name: 'memory',
    title: 'What is known about the repository',
    description: 'Conventions, decisions, notes and recent step summaries.',
    mimeType: 'text/markdown',
  },
  {
    uri: `${SCHEME}history/recent`,
    name: 'history-recent',
    title: 'The latest calls and decisions',
    description: 'The last 20 entries of the history, as JSON.',
    mimeType: 'application/json',
  },
  {
    uri: `${SCHEME}stats`,
    name: 'stats',
    title: 'Stored outputs by tool',
    description: 'How many outputs are stored, and their bytes.',
    mimeType: 'application/json',
  },
]

export const RESOURCE_TEMPLATES = [
  {
    uriTemplate: `${SCHEME}context/{id}{?lines,bytes,json_path}`,
    name: 'context',
    title: 'A stored output, or a part of it',
    description: 'lines=10-20, bytes=0-4096 or json_path=$.items[0]; one at a time, the start without them.',
    mimeType: 'text/plain',
  },
  {
    uriTemplate: `${SCHEME}store/{+path}`,
    name: 'store',
    title: 'An entry that an agent wrote',
    description: 'By its path, as context_search gives it.',
    mimeType: 'text/markdown',
  },
]

/** Where a page ends: after this output, the newest first. Keyed, so that new and removed outputs shift nothing. */
interface Cursor {
  readonly time: number
  readonly name: string
}

/** The fixed resources, then the stored outputs, newest first, by pages of 100. */
export async function listResources(
  stores: Stores,
  cursor: string | undefined,
  signal: AbortSignal,
): Promise<ListResourcesResult> {
  const after = cursor === undefined ? undefined : readCursor(cursor)
  const hasContexts = stores.settings.groups.has('contexts')
  const pointers = hasContexts ? await (await stores.outputs(signal)).listContexts() : []
  const left = pointers
    .sort((one, other) => other.timestamp - one.timestamp || compare(other.filename, one.filename))
    .filter(({ timestamp, filename }) =>
      after === undefined ? true : timestamp < after.time || (timestamp === after.time && filename < after.name),
    )
  const page = left.slice(0, PAGE)
  const last = page.at(-1)
  return {
    resources: [...(after === undefined ? FIXED_RESOURCES : []), ...page.map(resourceOf)],
    ...(left.length > page.length && last !== undefined
      ? { nextCursor: writeCursor({ time: last.timestamp, name: last.filename }) }
      : {}),
  }
}

const compare = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0)

function resourceOf({ handle, filename, toolName, timestamp }: ContextPointer): Resource {
  return {
    uri: `${SCHEME}context/${encodeURIComponent(handle ?? filename)}`,
    name: toolName.slice(0, 60),
    description: new Date(timestamp).toISOString(),
  }
}

const writeCursor = (cursor: Cursor): string => Buffer.from(JSON.stringify(cursor)).toString('base64url')

function readCursor(text: string): Cursor {
  try {
    const { time, name } = JSON.parse(Buffer.from(text, 'base64url').toString('utf8')) as Partial<Cursor>
    if (typeof time === 'number' && typeof name === 'string') {
      return { time, name }
    }
  } catch {
    // Refused below.
  }
  throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'this cursor is not one of this server: list from the start')
}

export async function readResource(stores: Stores, uri: string, signal: AbortSignal): Promise<ReadResourceResult> {
  for (const maxBytes of SLICE_BYTES) {
    const { text, mimeType } = await textOf(stores, uri, signal, maxBytes)
    const result = { contents: [{ uri, mimeType, text }] }
    if (Buffer.byteLength(JSON.stringify(result)) <= MOST_ANSWER_BYTES) {
      return result
    }
  }
  throw new ProtocolError(ProtocolErrorCode.InvalidParams, `${uri} is too large: read it by lines or bytes`)
}

interface Content {
  readonly text: string
  readonly mimeType: string
}

async function textOf(stores: Stores, uri: string, signal: AbortSignal, maxBytes: number): Promise<Content> {
  const { groups } = stores.settings
  const place = uri.startsWith(SCHEME) ? uri.slice(SCHEME.length) : ''
  try {
    if (place === 'memory' && groups.has('memory')) {
      const memory = await stores.memory()
      const text = await memory.buildContextFromMemory(Math.floor(maxBytes / 1.25), { repoMap: false, signal })
      return { text, mimeType: 'text/markdown' }
    }
    if (place === 'history/recent' && groups.has('history')) {
      const entries = await (await stores.history()).read(RECENT, { maxBytes: Math.floor(maxBytes / 2), signal })
      return { text: JSON.stringify(entries), mimeType: 'application/json' }
    }
    if (place === 'stats' && groups.has('contexts')) {
      return { text: JSON.stringify(await countByTool(stores, signal)), mimeType: 'application/json' }
    }
    if (place.startsWith('context/') && groups.has('contexts')) {
      return { text: await sliceText(stores, place.slice('context/'.length), signal, maxBytes), mimeType: 'text/plain' }
    }
    if (place.startsWith('store/') && groups.has('store')) {
      const entry = await (await stores.store()).read(decodeURIComponent(place.slice('store/'.length)))
      const { text } = cut(entry.content, maxBytes)
      return { text: frame(`Entry ${entry.path} by ${entry.agent}.`, text, undefined), mimeType: 'text/markdown' }
    }
  } catch (error) {
    if (error instanceof URIError || MISSING.has((error as { code?: unknown }).code)) {
      throw new ResourceNotFoundError(uri)
    }
    throw error
  }
  throw new ResourceNotFoundError(uri)
}

const MISSING = new Set<unknown>([
  'ERR_CONTEXT_NOT_FOUND',
  'ERR_CONTEXT_OUTSIDE_DIRECTORY',
  'ERR_CONTEXT_INVALID_ARGUMENT',
])

async function countByTool(stores: Stores, signal: AbortSignal): Promise<object> {
  const counts = new Map<string, { outputs: number; bytes: number }>()
  const pointers = await (await stores.outputs(signal)).listContexts()
  for (const { toolName, sizeBytes } of pointers) {
    const before = counts.get(toolName) ?? { outputs: 0, bytes: 0 }
    counts.set(toolName, { outputs: before.outputs + 1, bytes: before.bytes + sizeBytes })
  }
  const tools = [...counts].sort(([, one], [, other]) => other.bytes - one.bytes).slice(0, 50)
  return { outputs: pointers.length, tools: Object.fromEntries(tools) }
}

async function sliceText(stores: Stores, place: string, signal: AbortSignal, maxBytes: number): Promise<string> {
  const [id = '', query = ''] = place.split('?', 2)
  const parameters = new URLSearchParams(query)
  const slice: SliceOptions = {
    lines: rangeOf(parameters.get('lines')),
    bytes: rangeOf(parameters.get('bytes')),
    jsonPath: parameters.get('json_path') ?? undefined,
    maxBytes,
  }
  const { text, next, totalBytes, totalLines } = await (await stores.outputs(signal)).readContext(
    decodeURIComponent(id),
    slice,
  )
  const from = next?.bytes?.from ?? next?.lines?.from
  const further = next?.bytes ? 'bytes' : 'lines'
  const more = typeof from === 'number' ? `More: ${SCHEME}context/${id}?${further}=${from}-` : undefined
  return frame(`Of ${totalBytes} bytes in ${totalLines} lines.`, text, more)
}

/** `10-20`, `10-` or `10`. */
function rangeOf(text: string | null): SliceRange | undefined {
  if (text === null) {
    return undefined
  }
  const [, from, dash, to] = /^(\d{1,15})(-?)(\d{0,15})$/.exec(text) ?? []
  if (from === undefined) {
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, `'${text}' is no range: write it as 10-20 or 10-`)
  }
  return { from: Number(from), ...(to ? { to: Number(to) } : dash ? {} : { to: Number(from) }) }
}

/** The longest beginning within a bound that ends with a whole character. */
function cut(text: string, maxBytes: number): { text: string } {
  const bytes = Buffer.from(text)
  if (bytes.length <= maxBytes) {
    return { text }
  }
  return { text: `${new TextDecoder('utf-8').decode(bytes.subarray(0, maxBytes), { stream: true })}\n…` }
}
