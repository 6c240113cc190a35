/** Saves outputs: checks and encodes the call, and passes it to the native side. */

import { Buffer } from 'node:buffer'
import type { NativeManager } from '#addon'
import { checkArguments, checkText, optional, taskToken } from '../arguments/checks.ts'
import { asContextError, invalidArgument } from '../arguments/errors.ts'
import { tooLarge } from '../arguments/messages.ts'
import type { TaskId } from '../arguments/types.ts'
import { leastBytes } from '../native/binary.ts'
import { begin, type Hooks, operate, type Settle } from '../native/border.ts'
import { argumentsText, type Encoded, encode, encodeArguments, encodeText, FLAT, TEXT } from '../native/snapshot.ts'
import { stringify } from '../native/stringify.ts'
import { TakenBytes } from '../native/taken-bytes.ts'
import { reportSave } from '../redaction/redaction.ts'
import { recordStreamOptions } from './option-names.ts'
import type { CheckedOptions } from './options.ts'
import { arrival, BODY, isPending, isStream } from './pending-values.ts'
import { type RecordedStream, recordedStream } from './recorded-stream.ts'
import { type ArgumentsOf, addSave, isBatched } from './save-batch.ts'
import { NO_DETAILS, type OwnSaveOptions, SaveDetails, timeOf } from './save-details.ts'
import type { OffloadRequest, SaveStored, Stored } from './save-request.ts'
import { type OpenStream, SpooledStream } from './spooled-stream.ts'
import { type LongStreams, SHORT_STREAM } from './stream-keeper.ts'
import type { ContextManagerOptions, RecordStreamOptions, SaveOptions } from './types.ts'

const NO_BYTES: readonly Uint8Array[] = []
const NO_OPERATIONS: readonly number[] = []

/** The parts of a save besides the call and its result. */
interface SaveRequest {
  readonly saved: OwnSaveOptions | undefined
  /** The result (or its member `body`) if it is a stream in temporary files. */
  readonly spooled: SpooledStream | undefined
  readonly offload?: OffloadRequest
}

/** The checked facts of a call. */
interface Call {
  readonly task: string | undefined
  readonly startedAt: number
}

function readCall(
  toolName: string,
  args: Record<string, unknown>,
  taskId: TaskId | undefined,
  queryId: string | undefined,
  options: OwnSaveOptions | undefined,
): Call {
  checkText(toolName, 'toolName')
  checkArguments(args, 'args')
  const task = taskId === undefined ? undefined : taskToken(taskId, 'taskId')
  if (queryId !== undefined) {
    checkText(queryId, 'queryId')
  }
  return { task, startedAt: timeOf(options?.startedAt) }
}

/** Copies arguments, because encoding the result reuses the operations. */
function readArguments(args: Record<string, unknown>): ArgumentsOf {
  const { kind, text, operations, length, chunks } = encodeArguments(args)
  if (chunks.length > 0) {
    return { kind: TEXT, text: argumentsText(args), operations: NO_OPERATIONS }
  }
  if (length === 0) {
    return { kind, text, operations: NO_OPERATIONS }
  }
  const copied: number[] = []
  for (let index = 0; index < length; index++) {
    copied.push(operations[index] as number)
  }
  return { kind, text, operations: copied }
}

/** Saves for a manager. */
export class Saving {
  readonly #native: NativeManager
  readonly #hooks: Hooks
  readonly #options: CheckedOptions
  readonly #details: SaveDetails

  constructor(native: NativeManager, hooks: Hooks, options: CheckedOptions, given: ContextManagerOptions) {
    this.#native = native
    this.#hooks = hooks
    this.#options = options
    this.#details = new SaveDetails(hooks, given)
  }

  /** Saves an offloaded output. */
  readonly saveStored: SaveStored = async (toolName, args, result, taskId, queryId, request) =>
    JSON.parse(
      await this.#saveWhole(toolName, args, result, taskId, queryId, {
        saved: request.saved,
        spooled: request.spooled,
        offload: request,
      }),
    ) as Stored

  saveContext(
    toolName: string,
    args: Record<string, unknown>,
    result: unknown,
    taskId: TaskId | null | undefined,
    queryId: string | null | undefined,
    options: SaveOptions | null | undefined,
  ): Promise<string> {
    try {
      if (isPending(result)) {
        return this.#saveArriving(toolName, args, result, taskId ?? undefined, queryId ?? undefined, options)
      }
      return this.#save(toolName, args, result, taskId ?? undefined, queryId ?? undefined, options ?? undefined)
    } catch (error) {
      return Promise.reject(asContextError(error, 'saveContext', 'result'))
    }
  }

  recordStream<T>(
    toolName: string,
    args: Record<string, unknown>,
    stream: AsyncIterable<T>,
    options: RecordStreamOptions | null | undefined,
  ): RecordedStream<T> {
    checkText(toolName, 'toolName')
    checkArguments(args, 'args')
    const { taskId, queryId, ...saved } = optional(options, 'options', recordStreamOptions) ?? {}
    if (typeof stream !== 'object' || stream === null || !isStream(stream)) {
      throw invalidArgument('stream', 'an async iterable', stream)
    }
    const { maxResultBytes } = this.#options
    return recordedStream(stream, maxResultBytes, this.longStreams, async ({ result, spooled }, cut, outcome) =>
      this.#saveWhole(toolName, args, result, taskId ?? undefined, queryId ?? undefined, {
        saved: { ...saved, ...outcome, cut },
        spooled,
      }),
    )
  }

  async #saveArriving(
    toolName: string,
    args: Record<string, unknown>,
    pending: unknown,
    taskId: TaskId | undefined,
    queryId: string | undefined,
    options: SaveOptions | null | undefined,
  ): Promise<string> {
    checkText(toolName, 'toolName')
    checkArguments(args, 'args')
    const { maxResultBytes } = this.#options
    const arrived = await arrival(pending, maxResultBytes, undefined, this.longStreams)
    const { result, isCut, outcome, mediaType, spooled, lost } = arrived
    if (lost !== undefined) {
      throw lost.error
    }
    const saved = { ...options, mediaType: options?.mediaType ?? mediaType, ...outcome, cut: isCut }
    return this.#saveWhole(toolName, args, result, taskId, queryId, { saved, spooled })
  }

  /** Saves a result, or a stream in temporary files. */
  #saveWhole(
    toolName: string,
    args: Record<string, unknown>,
    result: unknown,
    taskId: TaskId | undefined,
    queryId: string | undefined,
    { saved, spooled, offload }: SaveRequest,
  ): Promise<string> {
    if (spooled === undefined) {
      return this.#save(toolName, args, result, taskId, queryId, saved, offload)
    }
    try {
      return this.#saveSpooled(toolName, args, result, taskId, queryId, saved, spooled, offload)
    } catch (error) {
      spooled.discard()
      throw error
    }
  }

  #saveSpooled(
    toolName: string,
    args: Record<string, unknown>,
    around: unknown,
    taskId: TaskId | undefined,
    queryId: string | undefined,
    options: OwnSaveOptions | undefined,
    spooled: SpooledStream,
    offload: OffloadRequest | undefined,
  ): Promise<string> {
    const { task, startedAt } = readCall(toolName, args, taskId, queryId, options)
    const argumentText = argumentsText(args)
    const details = { ...this.#details.of(toolName, args, undefined, options), offload: offload?.shown }
    this.#hooks.redaction?.redactor.refresh()
    return operate(
      this.#hooks,
      (operation) =>
        this.#native.saveStream(
          operation,
          spooled.native,
          toolName,
          startedAt,
          queryId,
          task,
          argumentText,
          JSON.stringify(details),
          NO_BYTES,
          around === undefined ? undefined : stringify(around),
          around === undefined ? undefined : BODY,
        ),
      this.#settle,
    )
  }

  /** The options for keeping long streams in temporary files; `undefined` with a `fileSystem`, and where streams need not be written to disk. */
  get longStreams(): LongStreams | undefined {
    const { fileSystem, persistAll, persistThreshold } = this.#options
    const isWritten = persistAll || (!this.#details.needsSize && persistThreshold <= SHORT_STREAM)
    return fileSystem === undefined && isWritten ? { open: this.#openStream } : undefined
  }

  readonly #openStream: OpenStream = (maxBytes) => {
    this.#hooks.redaction?.redactor.refresh()
    return new SpooledStream(this.#native.openStream(maxBytes), this.#hooks, maxBytes)
  }

  #save(
    toolName: string,
    args: Record<string, unknown>,
    result: unknown,
    taskId: TaskId | undefined,
    queryId: string | undefined,
    options: OwnSaveOptions | undefined,
    offload?: OffloadRequest,
  ): Promise<string> {
    const maximum = this.#options.maxResultBytes
    checkText(toolName, 'toolName')
    if (leastBytes(result) > maximum) {
      throw this.#tooLarge(toolName)
    }
    const { task, startedAt } = readCall(toolName, args, taskId, queryId, options)
    const encodedArguments = readArguments(args)
    let details = this.#details.of(toolName, args, result, options)
    const taken = new TakenBytes(details.mediaType)
    const encoded: Encoded =
      offload?.encoded ?? (this.#details.needsSize ? encodeText(result, taken) : encode(result, taken))
    // The text of a snapshot holds keys as well, and keys of absent values do not count.
    if (encoded.kind !== FLAT && encoded.text.length > maximum + 2) {
      throw this.#tooLarge(toolName)
    }
    if (this.#details.needsSize) {
      const size = Buffer.byteLength(encoded.text) + (encoded.taken?.size ?? 0)
      details.isLarge = this.#details.isLarge(toolName, args, size)
    }
    if (encoded.taken !== undefined) {
      const { marker, mediaTypes } = encoded.taken
      details = { ...details, bytes: { marker, mediaTypes } }
    }
    if (offload !== undefined) {
      details = { ...details, offload: offload.shown }
    }
    this.#hooks.redaction?.redactor.refresh()
    const detailsText = details === NO_DETAILS ? undefined : JSON.stringify(details)
    if (isBatched(encodedArguments, encoded)) {
      const add = (operation: number): void =>
        addSave(
          this.#native,
          { operation, toolName, startedAt, query: queryId, task, details: detailsText },
          encodedArguments,
          encoded,
        )
      return begin(this.#hooks, add, this.#settle)
    }
    const argumentText = encodedArguments.kind === TEXT ? encodedArguments.text : argumentsText(args)
    // The native side copies what it is given before it returns.
    const start = (operation: number): void =>
      this.#native.save(
        operation,
        toolName,
        startedAt,
        queryId,
        task,
        argumentText,
        encoded.kind,
        encoded.text,
        encoded.operations,
        encoded.length,
        encoded.chunks,
        detailsText,
        encoded.taken?.parts ?? NO_BYTES,
      )
    return operate(this.#hooks, start, this.#settle)
  }

  readonly #settle: Settle<string> = (saved, texts) =>
    texts.length === 0 ? saved : reportSave(this.#hooks.redaction, texts)

  #tooLarge(toolName: string): Error {
    const { maxResultBytes } = this.#options
    return tooLarge(this.#hooks.redaction?.redactor, 'result', toolName, maxResultBytes, 'retention.maxResultBytes')
  }
}
