/**
 * The JavaScript end of the bridge to the native side: the pending operations, and the completion queue. Through this queue the
 * native side sends results, debug messages and calls of injected file systems, in batches.
 */

import { clearTimeout, setInterval, setTimeout } from 'node:timers'
import { answerCall, contentOfCall, newScope, nextText, Outbox, takeMessages } from '#addon'
import { contextError, fromNative, keepThrown } from '../arguments/errors.ts'
import { quoteValue } from '../arguments/messages.ts'
import { callWithin, LONGEST_TIMEOUT } from '../arguments/signals.ts'
import type { Redacting } from '../redaction/redaction.ts'
import type { IFileSystem } from './types.ts'

/** The callbacks of one object of this package, which the native side calls by number. */
export interface Hooks {
  readonly fileSystem: IFileSystem | undefined
  readonly onDebug: ((message: string, data?: unknown) => void) | undefined
  /** `undefined` if redaction is disabled. */
  readonly redaction: Redacting | undefined
  /** Give passwords of the database and credentials of the bucket; referenced here because the native side calls them by number. */
  readonly passwords?: readonly PasswordSource[] | undefined
}

/** An object whose method gives the password of a new connection to a database, or credentials of a bucket as JSON. */
export interface PasswordSource {
  password(): Promise<string>
}

/** An object that the native side calls by number. */
type CalledObject = IFileSystem | PasswordSource

/** Receives the progress of an operation as JSON. */
export type Progress = (text: string) => void

/** Converts the answer of an operation to the value of its promise. An error that it throws rejects the promise. */
export type Settle<T> = (text: string, texts: readonly string[]) => T

/** A pending operation. */
interface Operation {
  readonly resolve: (value: unknown) => void
  readonly settle: Settle<unknown>
  readonly reject: (reason: unknown) => void
  /** Receives its progress. */
  readonly progress: Progress | undefined
  /** Referenced until the operation has ended, because the native side calls the hooks by number. */
  readonly hooks: Hooks
}

/** What a message is. */
const KIND = { done: 0, failed: 1, texts: 2, debug: 3, call: 4, progress: 5 } as const
type Kind = (typeof KIND)[keyof typeof KIND]

/** The number of messages that are taken from the queue at once. */
const BATCH = 512
const NO_TEXTS: readonly string[] = []

const numbers = new Int32Array(1 + 2 * BATCH)
const operations = new Map<number, Operation>()
const hooksByNumber = new Map<number, WeakRef<Hooks>>()
const forgetHooks = new FinalizationRegistry<number>((number) => hooksByNumber.delete(number))
const scopes = new WeakMap<CalledObject, number>()
const calledObjects = new Map<number, WeakRef<CalledObject>>()
const forgetCalledObject = new FinalizationRegistry<number>((scope) => calledObjects.delete(scope))
let nextOperation = 1
let nextHooks = 1

/** The native end of the completion queue, one per JavaScript environment. */
export const outbox = new Outbox(receive)
/** The number of the queue, for calls after the runtime has finalised the object. */
const outboxNumber = outbox.number

/** Keeps the process alive while operations are pending, and only then. */
const keepAlive = setInterval(() => {}, 0x7fffffff).unref()

/** Assigns a number to hooks, by which the native side can call them while their owner exists. */
export function registerHooks(hooks: Hooks): number {
  const number = nextHooks++
  if (hooks.onDebug !== undefined) {
    hooksByNumber.set(number, new WeakRef(hooks))
    forgetHooks.register(hooks, number)
  }
  return number
}

/**
 * Returns the number by which the native side calls an injected file system or a source of passwords. Objects that share it may
 * exist longer than the one that passed it first.
 */
export function scopeOf(called: CalledObject): number {
  let scope = scopes.get(called)
  if (scope === undefined) {
    scope = newScope()
    scopes.set(called, scope)
    calledObjects.set(scope, new WeakRef(called))
    forgetCalledObject.register(called, scope)
  }
  return scope
}

/** Sends the calls that wait, if any do. */
let sendWaiting: (() => void) | undefined
const NOW = Promise.resolve()

/**
 * Calls `send` at the end of the current run of synchronous code, so that calls of one run can be passed to the native side together,
 * or before the next operation starts, so that the order of calls is kept. `send` must not throw.
 */
export function sendLater(send: () => void): void {
  sendNow()
  sendWaiting = send
  // Costs less than `queueMicrotask`.
  NOW.then(sendNow)
}

/** Sends the calls that wait for the end of the current run of synchronous code. */
export function sendNow(): void {
  const send = sendWaiting
  sendWaiting = undefined
  send?.()
}

/**
 * Starts an operation: `start` passes its number to the native side, and `settle` converts the answer to the value of the promise
 * (an error that it throws rejects the promise). `progress` receives the progress; its errors are ignored.
 */
export function operate<T>(
  hooks: Hooks,
  start: (operation: number) => void,
  settle: Settle<T>,
  progress?: Progress,
): Promise<T> {
  sendNow()
  return begin(hooks, start, settle, progress)
}

/** As `operate`, without sending the calls that wait. */
export function begin<T>(
  hooks: Hooks,
  start: (operation: number) => void,
  settle: Settle<T>,
  progress?: Progress,
): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const operation = nextOperation
    nextOperation = operation === 0x7fffffff ? 1 : operation + 1
    start(operation)
    if (operations.size === 0) {
      keepAlive.ref()
    }
    operations.set(operation, { resolve: resolve as (value: unknown) => void, settle, reject, progress, hooks })
  })
}

/**
 * As `operate`, for an operation that a signal can abort: the promise then rejects with the signal's reason.
 *
 * @param native the object whose `cancel` stops the operation
 */
export function cancellable<T>(
  hooks: Hooks,
  native: { cancel(operation: number): void },
  signal: AbortSignal | undefined,
  start: (operation: number) => void,
  settle: Settle<T>,
  progress?: Progress,
): Promise<T> {
  if (signal?.aborted) {
    return Promise.reject(signal.reason)
  }
  let started = 0
  const promise = operate(
    hooks,
    (operation) => {
      started = operation
      start(operation)
    },
    settle,
    progress,
  )
  if (signal === undefined) {
    return promise
  }
  const cancel = (): void => {
    native.cancel(started)
    abandon(started, signal.reason)
  }
  signal.addEventListener('abort', cancel, { once: true })
  return promise.finally(() => signal.removeEventListener('abort', cancel))
}

/**
 * Closes an object: waits for its operations. Operations on an injected file system are abandoned after `timeout` ms; operations
 * on the local disk are always waited for.
 */
export function close(hooks: Hooks, native: { close(operation: number): void }, timeout: number): Promise<void> {
  let started = 0
  const closed = operate(
    hooks,
    (operation) => {
      started = operation
      native.close(operation)
    },
    () => {},
  )
  if (hooks.fileSystem === undefined || timeout > LONGEST_TIMEOUT) {
    return closed
  }
  const timer = setTimeout(() => {
    debug(hooks, 'close gave up: calls of the fileSystem are still under way', { closeTimeout: timeout })
    finish(started)?.resolve(undefined)
  }, timeout)
  return closed.finally(() => clearTimeout(timer))
}

/** Abandons an operation: its promise rejects now, and its later outcome is ignored. */
export function abandon(operation: number, reason: unknown): void {
  finish(operation)?.reject(reason)
}

function finish(operation: number): Operation | undefined {
  const found = operations.get(operation)
  if (found !== undefined) {
    operations.delete(operation)
    if (operations.size === 0) {
      keepAlive.unref()
    }
  }
  return found
}

/** Takes the queued messages. Called by the native side; never throws. */
function receive(): void {
  let count: number
  do {
    const joined = takeMessages(outboxNumber, numbers)
    count = numbers[0] ?? 0
    const texts = joined === null || joined === undefined ? NO_TEXTS : joined.split('\0')
    // Copied, because a callback may call this function recursively.
    const batch = count > 0 ? numbers.slice(1, 1 + 2 * count) : numbers
    for (let index = 0; index < count; index++) {
      dispatch(batch[2 * index] as Kind, batch[2 * index + 1] as number, texts[index] ?? '')
    }
  } while (count === BATCH)
}

function dispatch(kind: Kind, id: number, text: string): void {
  if (kind === KIND.debug) {
    const { message, data } = JSON.parse(text) as { message: string; data: unknown }
    tell(hooksByNumber.get(id)?.deref(), message, data)
  } else if (kind === KIND.call) {
    void call(id, text)
  } else if (kind === KIND.progress) {
    report(operations.get(id), text)
  } else {
    const operation = finish(id)
    try {
      if (kind === KIND.failed) {
        throw fromNative(text, operation?.hooks.redaction?.redactor)
      }
      // The texts are also taken for an abandoned operation; otherwise the native side would keep them.
      const texts = kind === KIND.texts ? takeTexts(id) : NO_TEXTS
      operation?.resolve(operation.settle(text, texts))
    } catch (error) {
      operation?.reject(error)
    }
  }
}

/** Reports the progress of an operation, unless it was abandoned. */
function report(operation: Operation | undefined, text: string): void {
  try {
    operation?.progress?.(text)
  } catch {
    // An error of the caller's progress callback must not fail the operation.
  }
}

/** Takes all texts of an operation, even if one of them fails: the engine refuses a text that is longer than a string can be. */
function takeTexts(operation: number): readonly string[] {
  const texts: string[] = []
  let failure: unknown
  for (;;) {
    try {
      const text = nextText(outboxNumber, operation)
      if (text === null) {
        break
      }
      // Only the answers of state stores contain bytes, at places that their reader knows.
      texts.push(text as string)
    } catch (error) {
      failure = error
    }
  }
  if (failure !== undefined) {
    throw contextError('ERR_CONTEXT_TOO_LARGE', 'the answer has more text than a string can hold', failure)
  }
  return texts
}

/** Calls the caller's `onDebug` with a message and data, which may contain values of callers and are redacted. */
export function debug(hooks: Hooks, message: string, data?: unknown): void {
  if (hooks.onDebug !== undefined) {
    const redactor = hooks.redaction?.redactor
    const shown = redactor === undefined ? data : quoteValue(redactor, data)
    tell(hooks, redactor?.quote(message) ?? message, shown)
  }
}

/** Calls the caller's `onDebug` and ignores its errors. */
function tell(hooks: Hooks | undefined, message: string, data: unknown): void {
  try {
    hooks?.onDebug?.(message, data)
  } catch {
    // An error of the callback must not fail the operation that it logs.
  }
}

/** The methods that the native side calls. */
type CalledMethod = keyof IFileSystem | keyof PasswordSource

interface ObjectCall {
  scope: number
  method: CalledMethod
  path: string
  /** The other path of `rename`, the mode of `chmod`. */
  argument: unknown
  /** The timeout in ms; `null` means no timeout. */
  timeout: number | null
}

/** The methods that change files. */
const CHANGES: ReadonlySet<CalledMethod> = new Set(['writeFile', 'appendFile', 'rename', 'unlink'])
/**
 * Paths with a change that timed out. The change may still take effect and would overwrite a later one. A late `appendFile` does
 * no harm.
 */
const pathsInDoubt = new WeakMap<object, Set<string>>()

/** Calls a method of an injected object with the arguments of its interface. The method is looked up at each call. */
async function call(id: number, text: string): Promise<void> {
  const { scope, method, path, argument, timeout } = JSON.parse(text) as ObjectCall
  try {
    const content = contentOfCall(outboxNumber, id)
    const fileSystem = calledObjects.get(scope)?.deref() as unknown as
      | Record<string, (...parameters: unknown[]) => unknown>
      | undefined
    if (fileSystem === undefined) {
      throw new Error('the fileSystem object was garbage-collected while an operation was pending')
    }
    const parameters = [path, ...(content === null ? [] : [content]), ...(argument === null ? [] : [argument])]
    if (typeof fileSystem[method] !== 'function') {
      throw new TypeError(`fileSystem.${method} is not a function`)
    }
    const paths = CHANGES.has(method) ? [path, ...(method === 'rename' ? [String(argument)] : [])] : []
    const answer = await callChecked(fileSystem, method, parameters, paths, timeout ?? Number.POSITIVE_INFINITY)
    answerCall(outboxNumber, id, false, answerText(method, answer))
  } catch (thrown) {
    answerCall(outboxNumber, id, true, JSON.stringify(describeThrown(thrown)))
  }
}

/**
 * Calls a method that may not settle.
 *
 * @param paths the paths that it changes
 */
async function callChecked(
  fileSystem: Record<string, (...parameters: unknown[]) => unknown>,
  method: CalledMethod,
  parameters: readonly unknown[],
  paths: readonly string[],
  timeout: number,
): Promise<unknown> {
  const inDoubt = pathsInDoubt.get(fileSystem)
  const doubtful = inDoubt === undefined ? undefined : paths.find((path) => inDoubt.has(path))
  if (doubtful !== undefined) {
    throw new Error(`an earlier change of ${doubtful} by the fileSystem did not settle in time and may still come`)
  }
  let isSettled = false
  let called: Promise<unknown> | undefined
  const call = (): Promise<unknown> => {
    called = new Promise((resolve) => resolve(fileSystem[method]?.(...parameters)))
    return called.finally(() => {
      isSettled = true
    })
  }
  try {
    return await callWithin(call, { name: `fileSystem.${method}`, timeout })
  } finally {
    if (!isSettled && method !== 'appendFile') {
      markInDoubt(fileSystem, paths, called as Promise<unknown>)
    }
  }
}

/** Marks paths as uncertain until a timed-out call settles. */
function markInDoubt(fileSystem: object, paths: readonly string[], call: Promise<unknown>): void {
  const inDoubt = pathsInDoubt.get(fileSystem) ?? new Set()
  pathsInDoubt.set(fileSystem, inDoubt)
  for (const path of paths) {
    inDoubt.add(path)
  }
  const clear = (): void => {
    for (const path of paths) {
      inDoubt.delete(path)
    }
  }
  call.then(clear, clear)
}

function answerText(method: CalledMethod, answer: unknown): string {
  switch (method) {
    case 'readFile':
      if (typeof answer !== 'string') {
        throw new TypeError(`fileSystem.readFile must give a string, not ${typeof answer}`)
      }
      return answer
    case 'readdir':
      if (!Array.isArray(answer)) {
        throw new TypeError(`fileSystem.readdir must give an array of names, not ${typeof answer}`)
      }
      return JSON.stringify(answer.map(String))
    case 'exists':
      return String(Boolean(answer))
    case 'password':
      if (typeof answer !== 'string') {
        throw new TypeError(`storage.credentials must give a string, not ${typeof answer}`)
      }
      return answer
    default:
      return ''
  }
}

function describeThrown(thrown: unknown): { message: string; code: string | undefined; handle: number } {
  const handle = keepThrown(thrown)
  try {
    const { message, code } = Object(thrown) as { message?: unknown; code?: unknown }
    const isText = typeof message === 'string' && message !== ''
    return {
      message: isText ? message : String(thrown),
      code: typeof code === 'string' ? code : undefined,
      handle,
    }
  } catch {
    return { message: 'threw something unreadable', code: undefined, handle }
  }
}
