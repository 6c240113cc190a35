/** Type test: redaction as callers write it. Compiled by `tsc --noEmit`, never run. */

import {
  ContextHistory,
  ContextManager,
  type RedactedText,
  type RedactionFinding,
  type RedactionOptions,
  type RedactionPattern,
  type RedactionReport,
  redact,
  redactStream,
  redactValue,
} from '../../dist/index.js'

const patterns: RedactionPattern[] = [
  { name: 'employee', pattern: /E-\d{6}/ },
  { name: 'customer', pattern: 'C-(?<secret>\\d{8})', flags: 'i' },
  { name: 'codename', literals: ['bluebird'] },
]
const everything: RedactionOptions = {
  patterns,
  allow: ['E-000000', /^C-0+$/],
  disable: ['github-token'],
  keys: ['wombat'],
  environment: false,
  replacement: 'mask',
  onRedaction: ({ kind, toolName, agent, filepath, entryId, findings }: RedactionReport) => {
    const told: [
      'context' | 'entry' | 'storeEntry' | 'memoryRecord' | 'memorySummary' | 'state',
      string | undefined,
      string | undefined,
      string,
      string | undefined,
      RedactionFinding[],
    ] = [kind, toolName, agent, filepath, entryId, findings]
    return void told
  },
}

export const managers = [
  new ContextManager(),
  new ContextManager({ redaction: false }),
  new ContextManager({ redaction: {} }),
  new ContextManager<string>({ redaction: everything }),
]
export const histories = [new ContextHistory({ redaction: false }), new ContextHistory({ redaction: everything })]
export const replaced: number = new ContextManager().stats().redactions

export const text: RedactedText = redact('x')
export const same: string = redact('x', false).text
export const counts: number[] = redact('x', everything).findings.map(({ count }) => count)
export const unknown: unknown = redactValue({ a: 1 }).value
export const typed: { a: number } = redactValue<{ a: number }>({ a: 1 }, everything).value
export const texts: AsyncIterable<string> = redactStream(['a'], everything)
export const bytes: AsyncIterable<Uint8Array> = redactStream(process.stdin as AsyncIterable<Buffer>)
export const streamCounts: number[] = redactStream(['a']).findings.map(({ count }) => count)

// @ts-expect-error a pattern needs a name
redact('x', { patterns: [{ pattern: /x/ }] })
// @ts-expect-error an expression or literals
redact('x', { patterns: [{ name: 'x' }] })
// @ts-expect-error no such replacement
redact('x', { replacement: 'stars' })
// @ts-expect-error only texts
redact({ a: 1 })
// @ts-expect-error only texts and bytes
redactStream([1])
// @ts-expect-error on is the default, and needs no word
export const on = new ContextManager({ redaction: true })
