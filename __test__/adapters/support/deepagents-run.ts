/** What the runs of deepagents share: an output that it moves to a file, and a model that finds a part of it there. */

import { LARGE } from './large.ts'
import { callOf, type Step } from './script.ts'

/** Lines of more than 20 000 tokens in all. */
export const LARGE_CUSTOMERS = [...LARGE.results, ...LARGE.results].map((one) => JSON.stringify(one)).join('\n')

/** What a model does that is referred to a file. */
export function grepCall(request: string): Step {
  const [path] = /\/large_tool_results\/[\w-]+\.txt/.exec(request) ?? []
  return callOf('grep', { pattern: 'Customer number 7"', path, output_mode: 'content' })
}

/** What the last answer says of customer 7. */
export function customerIn(request: string): string {
  return /Customer number 7\b/.exec(request.slice(request.lastIndexOf('"type":"tool"')))?.[0] ?? 'not found'
}
