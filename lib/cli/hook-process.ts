/**
 * The command `hook` as clients run it: one process per event, for which the client waits. It is built as CommonJS, and without the
 * parser and the streams of the other commands: an ESM import of `node:fs` loads all of Node's streams, which takes as long as reading
 * the event.
 */

import { readSync, writeSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { CLIENTS, type ClientName } from '../hooks/hook-event.ts'
import { type HookOptions, runHook } from '../hooks/run-hook.ts'
import { refuseFromFile, storageOf } from './database.ts'
import type { OptionValues } from './options.ts'
import { resolveSettings, type Settings } from './settings.ts'

const CHUNK_BYTES = 64 * 1024
/** The options that are read here. The parser of all commands reads the other options. */
const TEXTS = ['dir', 'history', 'memory', 'storage', 'blobs'] as const
const COUNT = /^\d{1,15}$/

interface HookCall {
  readonly client: ClientName
  readonly event: string
  readonly options: OptionValues
}

/**
 * Answers an event on standard output.
 *
 * @returns `false` if the parser of all commands has to read the command line; the parser also reports invalid command lines
 */
export async function answerHook(words: readonly string[]): Promise<boolean> {
  const call = hookCall(words)
  if (call === undefined) {
    return false
  }
  const { client, event, options } = call
  try {
    await answerEvent(client, event, hookOptions(resolveSettings(options, process.env, process.cwd()), options))
  } catch (error) {
    // For example, the settings cannot be read: the agent continues without an answer of the hook.
    const { logFailure } = await import('../hooks/hook-log.ts')
    await logFailure(join(homedir(), '.agent', 'hook.log'), (error as Error).message)
    await print('{}\n')
  }
  return true
}

export function hookOptions(settings: Settings, options: OptionValues): HookOptions {
  const { dir, history, memory, database, file } = settings
  refuseFromFile(database, file)
  return { dir, history, memory, ...storageOf(settings), threshold: options.threshold }
}

/** Reads an event from standard input and answers it on standard output. */
export async function answerEvent(client: ClientName, event: string, options: HookOptions): Promise<void> {
  const answer = await runHook(client, event, await readInput(), options)
  await print(`${JSON.stringify(answer)}\n`)
}

/** Reads `hook <client> <event>` with options that have a value each; `undefined` for any other command line. */
function hookCall([command, client, event = '', ...rest]: readonly string[]): HookCall | undefined {
  const known = CLIENTS.find((name) => name === client)
  if (command !== 'hook' || known === undefined || event === '' || event.startsWith('-') || rest.length % 2 !== 0) {
    return undefined
  }
  const options: { -readonly [Name in keyof OptionValues]: OptionValues[Name] } = {}
  for (let at = 0; at < rest.length; at += 2) {
    const [flag, value = ''] = rest.slice(at)
    const name = TEXTS.find((option) => flag === `--${option}`)
    if (name !== undefined && value !== '' && !value.startsWith('-')) {
      options[name] = value
    } else if (flag === '--threshold' && COUNT.test(value)) {
      options.threshold = Number(value)
    } else {
      return undefined
    }
  }
  return { client: known, event, options }
}

/** Reads standard input to its end. Reading may block: the process has no other work. */
async function readInput(): Promise<string> {
  const chunks: Uint8Array[] = []
  try {
    for (;;) {
      const chunk = new Uint8Array(CHUNK_BYTES)
      const length = readSync(0, chunk)
      if (length === 0) {
        break
      }
      chunks.push(chunk.subarray(0, length))
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EAGAIN') {
      // The pipe is non-blocking, and empty at this moment.
      for await (const chunk of process.stdin) {
        chunks.push(chunk as Uint8Array)
      }
    } else if (code !== 'EOF') {
      throw error
    }
  }
  return new TextDecoder('utf-8').decode(Buffer.concat(chunks))
}

async function print(text: string): Promise<void> {
  let rest = Buffer.from(text)
  try {
    while (rest.length > 0) {
      rest = rest.subarray(writeSync(1, rest))
    }
  } catch (error) {
    // After any other error, the client has closed the pipe, so no answer is needed.
    if ((error as NodeJS.ErrnoException).code === 'EAGAIN') {
      process.stdout.on('error', () => undefined)
      await new Promise((resolve) => process.stdout.write(rest, resolve))
    }
  }
}
