/** Real outputs of tools that fail, within noise: see `bench/failing-outputs.ts`. */

import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** Lines of noise before an output, and as many after it. */
export const NOISE_LINES = 400

export interface FailingOutput {
  readonly name: string
  readonly output: string
  /** The line that names the failure. */
  readonly names: string
}

/** All recorded outputs. */
export function failingOutputs(): FailingOutput[] {
  const folder = new URL('../failing-outputs/', import.meta.url)
  const read = (file: string): string => readFileSync(fileURLToPath(new URL(file, folder)), 'utf8')
  const index = JSON.parse(read('failing-outputs.json')) as Record<string, string>
  return Object.entries(index).map(([name, names]) => ({ name, output: read(`${name}.txt`), names }))
}

const WORDS =
  'amber birch cedar delta ember flint grove heath inlet jetty knoll larch maple north ocean pearl quartz ridge stone tide'.split(
    ' ',
  )

/** The same for the same number. */
function word(number: number): string {
  return WORDS[(number * 7919 + (number >> 3) * 104_729) % WORDS.length] as string
}

/** Noise of several kinds: a line for each number. */
export const noises: Readonly<Record<string, (line: number) => string>> = {
  log: (line) =>
    `2025-03-04T05:${String(line % 60).padStart(2, '0')}:07.${line}Z INFO [worker-${line % 5}] handled request ${line} for ${word(line)} in ${line % 83} ms`,
  build: (line) => `   Compiling ${word(line)}-${word(line * 3)} v${line % 9}.${line % 7}.${line % 5}`,
  tests: (line) => `ok ${line + 1} - ${word(line)} handles ${word(line + 5)} without errors (${line % 20} ms)`,
  downloads: (line) =>
    `[${line + 1}/900] ${line % 100}% fetched ${word(line)}/${word(line + 1)}.tar.gz (${line * 37} bytes), 0 errors`,
  prose: (line) =>
    `${word(line)} ${word(line * 5)} ${word(line + 2)}, ${word(line * 11)} and ${word(line + 9)} ${line * 7919}`,
}

/** An output with noise around it. */
export function withinNoise(output: string, noise: (line: number) => string): string {
  const lines = (from: number): string =>
    Array.from({ length: NOISE_LINES }, (_, index) => `${noise(from + index)}\n`).join('')
  const end = output.endsWith('\n') || output === '' ? '' : '\n'
  return `${lines(0)}${output}${end}${lines(NOISE_LINES)}`
}

/** The beginning and the end of a text, as many bytes in all. */
export function headAndTail(text: string, bytes: number): string {
  const buffer = Buffer.from(text)
  const head = Math.floor((bytes * 2) / 3)
  return `${buffer.subarray(0, head).toString()}\n${buffer.subarray(buffer.length - (bytes - head)).toString()}`
}

/** Results of tools that hold an output within noise: as shells and MCP servers give them. `quiet` is noise only. */
export const wrappings: Readonly<Record<string, (whole: string, quiet: string) => unknown>> = {
  'stdout of a shell': (whole) => ({ stdout: whole, stderr: '', exitCode: 1 }),
  'stderr beside a long stdout': (whole, quiet) => ({ stdout: quiet, stderr: whole, exitCode: 1 }),
  'text of an MCP result': (whole) => ({ content: [{ type: 'text', text: whole }], isError: true }),
  'JSON in a string': (whole) => JSON.stringify({ stdout: whole, stderr: '', exitCode: 1 }),
  'JSON in the text of an MCP result': (whole) => ({
    content: [{ type: 'text', text: JSON.stringify({ stdout: whole, exit_code: 1 }) }],
  }),
}

/** Noise only. */
export function noiseOnly(noise: (line: number) => string): string {
  return Array.from({ length: 2 * NOISE_LINES }, (_, line) => `${noise(line)}\n`).join('')
}
