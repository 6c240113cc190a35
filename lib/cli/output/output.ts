/** Where a command prints: text for people, JSON for programs, notes on standard error. */

import { spawn } from 'node:child_process'
import type { CommandRow } from '../command-types.ts'
import type { OptionValues } from '../options.ts'
import { createStyle, type Style, wantsColours } from './style.ts'
import { alignedRows, type Column, plainRow } from './table.ts'
import { safeJson } from './visible-text.ts'

const DEFAULT_WIDTH = 80
/** What is printed is collected up to here: one write for many lines. */
const FLUSH_AT = 64 * 1024

export type OutputMode = 'text' | 'json' | 'jsonl'

export interface ListOf<Item> {
  readonly items: Iterable<Item> | AsyncIterable<Item>
  readonly columns: readonly Column<Item>[]
  /** What the list says of itself in JSON, beside `items`. */
  readonly beside?: Readonly<Record<string, unknown>>
  /** For people, when there is nothing. */
  readonly empty: string
}

export class Output {
  readonly mode: OutputMode
  readonly isTerminal: boolean
  readonly width: number
  readonly style: Style
  readonly errorStyle: Style
  #buffer = ''
  #pager: NodeJS.WritableStream | undefined
  #isPagerDone: Promise<void> | undefined
  readonly #wantsPager: boolean

  constructor(row: CommandRow, options: OptionValues, environment: NodeJS.ProcessEnv) {
    this.mode = options.json === true ? 'json' : options.jsonl === true ? 'jsonl' : 'text'
    this.isTerminal = process.stdout.isTTY === true
    this.width = process.stdout.columns ?? DEFAULT_WIDTH
    this.style = createStyle(this.mode === 'text' && wantsColours(options.color, environment, this.isTerminal))
    this.errorStyle = createStyle(wantsColours(options.color, environment, process.stderr.isTTY === true))
    this.#wantsPager =
      this.isTerminal &&
      process.stdin.isTTY === true &&
      this.mode === 'text' &&
      row.output !== 'text' &&
      options.pager !== 'never' &&
      options.follow !== true &&
      environment['TERM'] !== 'dumb'
  }

  /** Written when there is enough of it, or at the end. */
  async write(text: string): Promise<void> {
    this.#buffer += text
    if (this.#buffer.length >= FLUSH_AT) {
      await this.flush()
    }
  }

  line(text = ''): Promise<void> {
    return this.write(`${text}\n`)
  }

  async lines(lines: readonly string[]): Promise<void> {
    for (const line of lines) {
      await this.line(line)
    }
  }

  async flush(): Promise<void> {
    const text = this.#buffer
    this.#buffer = ''
    if (text !== '') {
      await writeTo(this.#stream(text), text)
    }
  }

  /** Bytes as they are. */
  async bytes(bytes: Uint8Array): Promise<void> {
    await this.flush()
    await writeTo(process.stdout, bytes)
  }

  /** For people, on standard error. Nothing when the output is for a program. */
  note(text: string): void {
    if (this.mode === 'text') {
      process.stderr.write(`${text}\n`)
    }
  }

  async document(value: unknown, text: () => Promise<void>): Promise<void> {
    if (this.mode === 'text') {
      await text()
    } else {
      await this.line(safeJson(value, this.mode === 'json' ? 2 : undefined))
    }
  }

  /** @returns how many there were */
  async list<Item>(list: ListOf<Item>): Promise<number> {
    if (this.mode === 'text') {
      return this.isTerminal ? this.#alignedList(list) : this.#plainList(list)
    }
    let count = 0
    const isDocument = this.mode === 'json'
    if (isDocument) {
      await this.write('{\n')
      for (const [name, value] of Object.entries(list.beside ?? {})) {
        await this.write(`  ${JSON.stringify(name)}: ${safeJson(value)},\n`)
      }
      await this.write('  "items": [')
    }
    for await (const item of list.items) {
      await this.write(isDocument ? `${count === 0 ? '' : ','}\n    ${safeJson(item)}` : `${safeJson(item)}\n`)
      count++
    }
    if (isDocument) {
      await this.write(count === 0 ? ']\n}\n' : '\n  ]\n}\n')
    }
    return count
  }

  async #plainList<Item>({ items, columns, empty }: ListOf<Item>): Promise<number> {
    let count = 0
    for await (const item of items) {
      await this.line(plainRow(columns, item))
      count++
    }
    if (count === 0) {
      this.note(empty)
    }
    return count
  }

  async #alignedList<Item>({ items, columns, empty }: ListOf<Item>): Promise<number> {
    const all: Item[] = []
    for await (const item of items) {
      all.push(item)
    }
    if (all.length === 0) {
      this.note(empty)
    } else {
      await this.lines(alignedRows(columns, all, this.width, this.style))
    }
    return all.length
  }

  /** After the last line: waits for the pager, where there is one. */
  async end(): Promise<void> {
    await this.flush()
    if (this.#pager !== undefined) {
      this.#pager.end()
      await this.#isPagerDone
    }
  }

  /** What does not fit on the screen goes to a pager. */
  #stream(text: string): NodeJS.WritableStream {
    if (this.#pager === undefined && this.#wantsPager && countLines(text) >= (process.stdout.rows ?? Infinity)) {
      this.#startPager()
    }
    return this.#pager ?? process.stdout
  }

  #startPager(): void {
    const [command = 'less', ...parameters] = (process.env['PAGER'] || 'less -FRX').split(/\s+/).filter(Boolean)
    const pager = spawn(command, parameters, { stdio: ['pipe', 'inherit', 'inherit'] })
    const { stdin } = pager
    if (pager.pid === undefined || stdin === null) {
      // There is no such program: its error event comes later.
      pager.on('error', () => undefined)
      return
    }
    stdin.on('error', () => undefined) // It was left before the end.
    this.#isPagerDone = new Promise((resolve) => {
      pager.on('close', () => resolve())
      pager.on('error', () => resolve())
    })
    this.#pager = stdin
  }
}

function countLines(text: string): number {
  return text.split('\n').length
}

/** Waits where the reader is slower than the writer. */
function writeTo(stream: NodeJS.WritableStream, chunk: string | Uint8Array): Promise<void> {
  return new Promise((resolve) => {
    if (stream.write(chunk)) {
      resolve()
      return
    }
    const done = (): void => {
      stream.removeListener('drain', done)
      stream.removeListener('close', done)
      resolve()
    }
    stream.on('drain', done)
    stream.on('close', done)
  })
}
