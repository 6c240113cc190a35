/** Sessions with many pointers, made fast: tiny results that only memory holds. */

import { ContextManager } from '../dist/index.js'
import { Variety } from './payloads.ts'

const TOOLS = ['read_file', 'search_text', 'list_tree', 'run_command', 'fetch_page']
const WORDS = (
  'login session token user order invoice cart payment cache index query buffer socket router parser lexer schema ' +
  'migration worker queue retry metric logger config locale theme button dialog table chart editor cursor selection ' +
  'history snapshot backup restore upload download stream cipher digest signature certificate region cluster replica'
).split(' ')
const MODULES = 5000
/** Saves handed over at once. */
const BATCH = 1024
export const POINTERS_PER_QUERY = 10

/** Words that about one in 5000 pointers and about one in fourteen have. */
export const RARE_QUERY = 'where is 4711?'
export const COMMON_QUERY = 'how is the login token refreshed?'

/** A manager that never writes. */
export function memoryManager(contextDir: string): ContextManager {
  return new ContextManager({ contextDir, persist: 'large', memoryBudget: Number.MAX_SAFE_INTEGER })
}

/** The query of a pointer. */
export function queryIdOf(index: number): string {
  return `q_${Math.floor(index / POINTERS_PER_QUERY)
    .toString(16)
    .padStart(16, '0')}`
}

export function saveOne(manager: ContextManager, index: number): Promise<string> {
  const variety = new Variety(index)
  const [area, part] = [variety.of(WORDS), variety.of(WORDS)]
  const path = `src/${area}/${part}Module${variety.below(MODULES)}.ts`
  return manager.saveContext(variety.of(TOOLS), { path, line: index }, index, index % 1000, queryIdOf(index))
}

/** Saves numbers `start` to `end`. */
export async function populate(manager: ContextManager, start: number, end: number): Promise<void> {
  for (let first = start; first < end; first += BATCH) {
    const length = Math.min(BATCH, end - first)
    await Promise.all(Array.from({ length }, (_, offset) => saveOne(manager, first + offset)))
  }
}
