/** How a tool call ended, read from what the tool gave back. */

import type { ToolOutcome } from '../manager/types.ts'
import { textOfBinary } from '../native/binary.ts'
import { readMember, stringify } from '../native/stringify.ts'

/** The members of a response that a record has members for. */
const WRAPPER_KEYS: ReadonlySet<string> = new Set(['success', 'result', 'error', 'message'])
/** A longer text of an error that is no string is found in the result alone, in UTF-16 units. It is never cut: the rest of
 * a secret that was cut is not recognised as one. */
const MAXIMUM_ERROR_TEXT = 8192

/** A response as it is recorded. */
export interface ReadResponse {
  readonly result: unknown
  readonly outcome: ToolOutcome
}

/**
 * Reads a response. It is unwrapped only when the record has a place for each of its members; otherwise the whole
 * response is the result. The outcome is read from both.
 *
 * @param told whether the call succeeded, as its caller says; it overrides the response
 */
export function readResponse(response: unknown, told: unknown): ReadResponse {
  const outcome = readOutcome(response)
  if (typeof told === 'boolean') {
    outcome.success = told
  }
  return { result: isWrapper(response) ? readMember(response, 'result') : response, outcome }
}

/**
 * How a call ended that gave back `response`: a wrapper (`success`, with `error` and `message`) or the result of an MCP
 * tool (`isError`, `content`, `structuredContent`). Any other value says nothing.
 */
export function readOutcome(response: unknown): ToolOutcome {
  const outcome: ToolOutcome = {}
  if (typeof response !== 'object' || response === null) {
    return outcome
  }
  const success = readMember(response, 'success')
  const isError = readMember(response, 'isError')
  if (isError === true || success === false) {
    outcome.success = false
  } else if (success === true || isError === false || isMcpResult(response)) {
    outcome.success = true
  } else {
    return outcome
  }
  const error = readErrorText(readMember(response, 'error')) ?? (isError === true ? readTexts(response) : undefined)
  if (error !== undefined) {
    outcome.error = error
  }
  const message = readMember(response, 'message')
  if (typeof message === 'string') {
    outcome.message = message
  }
  return outcome
}

/** Whether a response is nothing but a result, and what a record says of it without loss. */
function isWrapper(response: unknown): response is object {
  if (typeof response !== 'object' || response === null) {
    return false
  }
  try {
    const isWrapped =
      typeof readMember(response, 'success') === 'boolean' &&
      Object.keys(response).every((key) => WRAPPER_KEYS.has(key))
    return isWrapped && isText(readMember(response, 'message')) && isErrorText(readMember(response, 'error'))
  } catch {
    return false // a Proxy trap
  }
}

/** Halves of characters survive in results only. */
function isText(value: unknown): boolean {
  return value === undefined || value === null || (typeof value === 'string' && value.isWellFormed())
}

/** JSON shows nothing of an `Error` without members of its own. */
function isErrorText(value: unknown): boolean {
  return isText(value) || (value instanceof Error && Object.keys(value).length === 0)
}

/** The text of an error: itself, its message, or its JSON. */
function readErrorText(error: unknown): string | undefined {
  if (typeof error === 'string') {
    return error
  }
  if (error === undefined || error === null || error === false) {
    return undefined
  }
  const message = error instanceof Error || typeof error !== 'object' ? undefined : readMember(error, 'message')
  return ifShort(typeof message === 'string' && message !== '' ? message : asText(error))
}

/** Whether a value is what an MCP tool gives back. Without `isError`, that is a success. */
function isMcpResult(response: object): boolean {
  const content = readMember(response, 'content')
  return (
    Array.isArray(content) &&
    (content.length > 0 || typeof readMember(response, 'structuredContent') === 'object') &&
    content.every(
      (block: unknown) => typeof block === 'object' && block !== null && typeof readMember(block, 'type') === 'string',
    )
  )
}

/** The texts in the content of an MCP tool's result. */
function readTexts(response: object): string | undefined {
  const content = readMember(response, 'content')
  const texts = (Array.isArray(content) ? (content as unknown[]) : []).flatMap((block) => {
    const text = typeof block === 'object' && block !== null ? readMember(block, 'text') : undefined
    return typeof text === 'string' ? [text] : []
  })
  return texts.length === 0 ? undefined : ifShort(texts.join('\n'))
}

function ifShort(text: string): string | undefined {
  return text.length <= MAXIMUM_ERROR_TEXT ? text : undefined
}

/** Any value as a text: a string and an `Error` as they are, anything else as JSON. */
export function asText(value: unknown): string {
  if (typeof value !== 'object' || value === null) {
    return String(value)
  }
  try {
    return value instanceof Error ? String(value) : (textOfBinary(value) ?? stringify(value))
  } catch {
    return '[unreadable]'
  }
}
