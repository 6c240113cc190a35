/** Reads from a tool's response how the call ended. */

import type { ToolOutcome } from '../manager/types.ts'
import { textOfBinary } from '../native/binary.ts'
import { readMember, stringify } from '../native/stringify.ts'

/** The members of a response that a record stores separately. */
const WRAPPER_KEYS: ReadonlySet<string> = new Set(['success', 'result', 'error', 'message'])
/**
 * The longest text of an error that is not a string, in UTF-16 code units. A longer one is stored only in the result. It is not
 * cut, because redaction does not recognise a part of a secret.
 */
const MAXIMUM_ERROR_TEXT = 8192

/** The parts of a response, as they are recorded. */
export interface ReadResponse {
  readonly result: unknown
  readonly outcome: ToolOutcome
}

/**
 * Reads a response. If the record can store each of its members separately, the result is the response's `result`; otherwise it
 * is the whole response. The outcome is read in both cases.
 *
 * @param told the caller's `success`, which overrides the response
 */
export function readResponse(response: unknown, told: unknown): ReadResponse {
  const outcome = readOutcome(response)
  if (typeof told === 'boolean') {
    outcome.success = told
  }
  return { result: isWrapper(response) ? readMember(response, 'result') : response, outcome }
}

/**
 * Reads the outcome of a call from its response: a wrapper (`success`, with `error` and `message`) or the result of an MCP tool
 * (`isError`, `content`, `structuredContent`). For any other value, the outcome is unknown.
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

/** Whether a response consists only of a result and of members that a record stores without loss. */
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

/** Whether a value is a text without lone surrogates, which only results preserve. */
function isText(value: unknown): boolean {
  return value === undefined || value === null || (typeof value === 'string' && value.isWellFormed())
}

/** Whether an error can be recorded as a text without loss: a string, or an `Error` without other members. */
function isErrorText(value: unknown): boolean {
  return isText(value) || (value instanceof Error && Object.keys(value).length === 0)
}

/** The text of an error: the string itself, its message, or its JSON. */
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

/** Whether a value is the result of an MCP tool. Without `isError`, the call succeeded. */
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

/** Converts any value to a text: a string unchanged, an `Error` as its text, any other value as JSON. */
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
