/** What the models of the tests say: the same for all frameworks. */

/** What a model says in a step: a text, or calls of tools. */
export type Step = string | readonly { readonly tool: string; readonly input: object }[]

/** The steps, each of which may depend on the JSON of what the model is sent. */
export type Script = readonly (Step | ((request: string) => Step))[]

export function stepOf(script: Script, index: number, request: string): Step {
  const entry = script[index] ?? 'done'
  return typeof entry === 'function' ? entry(request) : entry
}

/** A text as a model streams it: word by word. */
export const piecesOf = (text: string): string[] => text.split(/(?<= )/)

export const callOf = (tool: string, input: object = {}): Step => [{ tool, input }]

/** What a model does that finds a placeholder: it reads customer 7 of what was stored. */
export function readBack(request: string, prefix = ''): Step {
  const [id] = /ctx_[0-9a-f]{16}/.exec(request) ?? []
  return callOf(`${prefix}read_context_slice`, { id, grep: 'Customer number 7\\b', max_bytes: 200 })
}

/** What the last answer of a tool says of customer 7. */
export function nameIn(request: string): string {
  return /Customer number 7\b/.exec(request.slice(request.lastIndexOf('read_context_slice')))?.[0] ?? 'not found'
}
