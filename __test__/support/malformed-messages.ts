/** Messages that no client sends: valid ones with parts replaced, cut or damaged, and bytes that are no message. */

import type { SeededRandom } from './seeded-random.ts'

const CALLS: readonly (readonly [name: string, args: Record<string, unknown>])[] = [
  ['list_contexts', { limit: 5 }],
  ['search_contexts', { query: 'needle', limit: 5 }],
  ['read_context_slice', { id: 'ctx_0123456789abcdef', from_line: 1, to_line: 2 }],
  ['store_output', { tool: 'grep', args: { pattern: 'x' }, result: 'one hit' }],
  ['read_context', { limit: 5, text: 'login', ranked: true }],
  ['context_write', { slug: 'a', type: 'finding', content: 'text', tags: ['t'] }],
  ['context_search', { query: 'login' }],
  ['context_read', { path: 'agent/entry.md' }],
  ['context_update', { path: 'agent/entry.md', description: 'why', content: 'text' }],
  ['context_supersede', { path: 'agent/entry.md', reason: 'why', slug: 'b', type: 'finding', content: 'text' }],
  ['memory_pack', { max_chars: 500, query: 'tests' }],
  ['memory_remember', { kind: 'note', content: 'text' }],
]
const REQUESTS: readonly (readonly [method: string, params: Record<string, unknown>])[] = [
  ...CALLS.map(([name, args]) => ['tools/call', { name, arguments: args }] as const),
  ['tools/list', {}],
  ['resources/list', { cursor: 'e30' }],
  ['resources/read', { uri: 'agent-context://context/ctx_0123456789abcdef?lines=1-2' }],
  ['resources/read', { uri: 'agent-context://store/agent/entry.md' }],
  ['resources/templates/list', {}],
  ['prompts/list', {}],
  ['prompts/get', { name: 'recall', arguments: { question: 'why' } }],
  ['completion/complete', { ref: { type: 'ref/prompt', name: 'handoff' }, argument: { name: 'session', value: 'a' } }],
  ['ping', {}],
  ['initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '1' } }],
  ['notifications/cancelled', { requestId: 1, reason: 'no' }],
  ['notifications/initialized', {}],
]

const strange = (random: SeededRandom): unknown =>
  random.of<() => unknown>([
    () => null,
    () => -1,
    () => 1e308,
    () => 0.5,
    () => Number.MAX_SAFE_INTEGER,
    () => true,
    () => '',
    () => '\u0000\u202e\ud800',
    () => '../'.repeat(20),
    () => '/etc/passwd',
    () => 'file:///etc/passwd',
    () => '%E0%A4%A',
    () => 'x'.repeat(1 + random.below(20_000)),
    () => [],
    () => [[[[[null]]]]],
    () => ({}),
    () => ({ __proto__: null, constructor: { prototype: {} } }),
    () => Array.from({ length: 200 }, (_, index) => index),
  ])()

/** The same value with one part, chosen at random, replaced, removed or added. */
function mutated(value: unknown, random: SeededRandom): unknown {
  if (typeof value !== 'object' || value === null || random.below(6) === 0) {
    return strange(random)
  }
  if (Array.isArray(value)) {
    const chosen = random.below(value.length + 1)
    return value.map((item: unknown, index) => (index === chosen ? mutated(item, random) : item))
  }
  const members = Object.entries(value)
  if (members.length === 0 || random.below(8) === 0) {
    return { ...value, [random.of(['_meta', 'extra', 'id', '__proto__', 'params'])]: strange(random) }
  }
  const chosen = random.below(members.length)
  const isRemoved = random.below(5) === 0
  return Object.fromEntries(
    members.flatMap(([key, inner], index): [string, unknown][] =>
      index !== chosen ? [[key, inner]] : isRemoved ? [] : [[key, mutated(inner, random)]],
    ),
  )
}

/** One line without its end; `number` is the id of the request that it was made from. */
export function malformedMessage(random: SeededRandom, number: number): Buffer {
  const [method, params] = random.of(REQUESTS)
  const isNotification = method.startsWith('notifications/')
  const message = { jsonrpc: '2.0', ...(isNotification ? {} : { id: number }), method, params }
  const kind = random.below(20)
  if (kind === 0) {
    // Bytes that are neither JSON nor UTF-8.
    return Buffer.from(Array.from({ length: 1 + random.below(200) }, () => 0x80 + random.below(128)))
  }
  if (kind === 1) {
    return Buffer.from('['.repeat(1 + random.below(20_000)))
  }
  const text = JSON.stringify(mutated(message, random)) ?? 'null'
  if (kind <= 4) {
    return Buffer.from(text.slice(0, random.below(text.length)))
  }
  return Buffer.from(kind === 5 ? `[${text},${text}]` : text)
}
