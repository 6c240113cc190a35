/** The entries of the history's benchmarks. */

import type { ContextEntry } from '../dist/index.js'
import { makeRecord } from './payloads.ts'

/** What an entry's JSON text holds beside its result, in bytes. */
const FRAME_BYTES = 210
/** Longer results are lists of hits, shorter ones a few lines of text. */
const MANY_HITS = 1000

/** The entry `seed`, about `bytes` of JSON text. */
export function makeEntry(bytes: number, seed: number): ContextEntry {
  const room = bytes - FRAME_BYTES
  const { toolName, args, timestamp, result } = makeRecord(room > MANY_HITS ? 'hits' : 'text', room, seed)
  const id = `00000000-0000-4000-8000-${seed.toString(16).padStart(12, '0')}`
  return { toolName, params: args, result, success: true, summary: null, timestamp, id }
}

/** An entry's line in a history, with its newline character. */
export function lineOf({ toolName, ...rest }: ContextEntry): string {
  return `${JSON.stringify({ tool_name: toolName, ...rest })}\n`
}
