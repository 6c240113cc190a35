/** What went wrong, as an exit code and a message for people or programs. */

import { EXIT, type ExitCode } from './command-types.ts'
import { visibleLine } from './output/visible-text.ts'

/** A failure that a command found itself; `code` is in the JSON of an error. */
export class CliError extends Error {
  readonly exitCode: ExitCode
  readonly code: string

  constructor(message: string, exitCode: ExitCode, code = CODES[exitCode] ?? 'ERR_CLI_FAILED') {
    super(message)
    this.exitCode = exitCode
    this.code = code
  }
}

const CODES: Readonly<Partial<Record<ExitCode, string>>> = {
  [EXIT.nothing]: 'ERR_CLI_CHECK',
  [EXIT.usage]: 'ERR_CLI_USAGE',
  [EXIT.notFound]: 'ERR_CLI_NOT_FOUND',
  [EXIT.refused]: 'ERR_CLI_REFUSED',
  [EXIT.io]: 'ERR_CLI_IO',
}

/** Errors of the library by their codes; a code that is not here is a failure of the file system or of the package. */
const EXIT_CODES: Readonly<Record<string, ExitCode>> = {
  ERR_CONTEXT_INVALID_ARGUMENT: EXIT.usage,
  ERR_CONTEXT_NOT_FOUND: EXIT.notFound,
  ERR_CONTEXT_OUTSIDE_DIRECTORY: EXIT.refused,
  ERR_CONTEXT_CONFLICT: EXIT.refused,
  ERR_CONTEXT_LOCK_TIMEOUT: EXIT.refused,
  ERR_CONTEXT_UNSAFE_DIRECTORY: EXIT.refused,
  ERR_CONTEXT_UNSUPPORTED: EXIT.refused,
  ERR_CONTEXT_TOO_LARGE: EXIT.refused,
  ERR_CONTEXT_REDACTION: EXIT.redaction,
}

export interface Failure {
  readonly exitCode: ExitCode
  readonly code: string
  readonly message: string
}

export function failureOf(error: unknown): Failure {
  if (error instanceof CliError) {
    return error
  }
  if (!(error instanceof Error)) {
    return { exitCode: EXIT.io, code: 'ERR_CLI_FAILED', message: String(error) }
  }
  const { code } = error as NodeJS.ErrnoException
  if (typeof code !== 'string') {
    return { exitCode: EXIT.io, code: 'ERR_CLI_FAILED', message: error.message }
  }
  const message = code.startsWith('ERR_CONTEXT_') && error.cause instanceof Error ? withCause(error) : error.message
  return { exitCode: EXIT_CODES[code] ?? EXIT.io, code, message }
}

/** The library's message names the file; its cause says why. */
function withCause(error: Error): string {
  const { message } = error.cause as Error
  return error.message.includes(message) ? error.message : `${error.message} (${message})`
}

/** Where the error goes: standard error. */
export function formatFailure(failure: Failure, isJson: boolean, program: string): string {
  return isJson
    ? `${JSON.stringify({ error: { code: failure.code, message: failure.message } })}\n`
    : `${program}: ${failure.message.split('\n').map(visibleLine).join('\n')}\n`
}
