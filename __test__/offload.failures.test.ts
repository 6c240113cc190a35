/** What placeholders show of outputs that report failures: real outputs of real tools, within noise. */

import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { describe, test } from 'node:test'
import { failingOutputs, headAndTail, noiseOnly, noises, withinNoise, wrappings } from './support/failing-outputs.ts'
import { MemoryFileSystem } from './support/fixtures.ts'
import { ContextManager } from './support/managers.ts'
import { holds } from './support/processes.ts'

const LEAST_OUTPUTS = 40
const LEAST_SHARE = 0.95
/** What encloses a preview takes no more, in bytes. */
const FRAME_BYTES = 480
const PREVIEW_BYTES = 1024

const inMemory = (): ContextManager =>
  new ContextManager({ contextDir: '/virtual/contexts', fileSystem: new MemoryFileSystem(), redaction: false })

describe('a placeholder of a failing output within noise', () => {
  const outputs = failingOutputs()

  test('is tried on enough outputs', () => {
    holds(outputs.length >= LEAST_OUTPUTS, `${outputs.length} outputs`)
    for (const { name, output, names } of outputs) {
      holds(names !== '' && output.includes(names), `${name} does not hold ${names}`)
    }
  })

  for (const [kind, noise] of Object.entries(noises)) {
    test(`shows the line that names the failure: ${kind}`, async () => {
      const manager = inMemory()
      const missed: string[] = []
      let truncated = 0
      for (const { name, output, names } of outputs) {
        const whole = withinNoise(output, noise)
        const { text } = await manager.offload('run_command', { command: name }, whole)
        holds(Buffer.byteLength(text) <= PREVIEW_BYTES + FRAME_BYTES, `${name}: ${Buffer.byteLength(text)} bytes`)
        // Long lines are cut.
        if (!text.includes(names.slice(0, 150))) {
          missed.push(name)
        }
        truncated += Number(headAndTail(whole, Buffer.byteLength(text)).includes(names))
      }
      const shown = outputs.length - missed.length
      holds(shown >= LEAST_SHARE * outputs.length, `${shown} of ${outputs.length}; not ${missed.join(', ')}`)
      assert.equal(truncated, 0, 'the noise hides the failure from one who shows a beginning and an end')
    })
  }

  for (const [wrapping, wrap] of Object.entries(wrappings)) {
    test(`shows the line that names the failure: ${wrapping}`, async () => {
      const manager = inMemory()
      const missed: string[] = []
      for (const { name, output, names } of outputs) {
        for (const [kind, noise] of Object.entries(noises)) {
          const result = wrap(withinNoise(output, noise), noiseOnly(noise))
          const { text } = await manager.offload('run_command', { command: name }, result)
          holds(Buffer.byteLength(text) <= PREVIEW_BYTES + FRAME_BYTES, `${name}: ${Buffer.byteLength(text)} bytes`)
          if (!text.includes(names.slice(0, 150))) {
            missed.push(`${name} in ${kind}`)
          }
        }
      }
      const all = outputs.length * Object.keys(noises).length
      const shown = all - missed.length
      holds(shown >= LEAST_SHARE * all, `${shown} of ${all}; not ${missed.join(', ')}`)
    })
  }

  test('names a path with which the rest is read, and counts the bytes of each text', async () => {
    const manager = inMemory()
    const log = noises['log'] as (line: number) => string
    const whole = withinNoise('error: the ledger is closed\n', log)
    const inner = JSON.stringify({ stdout: whole, exit_code: 1 })
    for (const [result, path] of [
      [{ stdout: whole, stderr: 'a warning', exitCode: 1 }, '$.stdout'],
      [{ content: [{ type: 'image' }, { type: 'text', text: whole }] }, '$.content[1].text'],
      [{ 'tool output': whole }, "$['tool output']"],
      [inner, '$.stdout'],
      [{ content: [{ type: 'text', text: inner }] }, '$.content[0].text.stdout'],
    ] as const) {
      const { text, handle } = await manager.offload('run_command', {}, result)
      const mark = String(handle).slice('ctx_'.length)
      const [, bytes] = /^\[(?:\S| (?!of))+ of stored-output-\w+: (\d+) bytes in \d+ lines of text\]$/m.exec(text) ?? []
      assert.equal(Number(bytes), whole.length, text)
      holds(text.includes(`\n[${path} of stored-output-${mark}: `), text)
      holds(text.includes('error: the ledger is closed\n'), text)
      const [, parameters = ''] = /read_context_slice\((.*)\), or/.exec(text) ?? []
      const { id, json_path, from_line, from_byte } = JSON.parse(parameters) as Record<string, string | number>
      assert.deepEqual([id, json_path], [handle, path])
      const part =
        from_line === undefined ? { bytes: { from: Number(from_byte) } } : { lines: { from: Number(from_line) } }
      const slice = await manager.readContext(String(handle), { jsonPath: path, ...part, maxBytes: 1000 })
      assert.equal(slice.totalBytes, whole.length)
      holds(slice.text !== '' && whole.includes(slice.text), slice.text)
    }
  })

  test('leaves JSON of many values as it was: an outline, the beginning and the end', async () => {
    const manager = inMemory()
    const rows = Array.from({ length: 500 }, (_, id) => ({ id, name: `name ${id}`, error: 'error: none' }))
    const { text } = await manager.offload('query', {}, { rows })
    holds(text.includes('rows: array of 500 objects; the first object has 3 keys\n    id: number\n'), text)
    holds(text.includes('\n{"rows":[{"id":0,') && text.includes('"error":"error: none"}]}\n'), text)
  })

  test('counts every byte that it leaves out', async () => {
    const manager = inMemory()
    // Of others a character takes more bytes than one, or is shown as another.
    for (const { output } of outputs.filter(({ output }) => !/[^\n\t -~]/.test(output))) {
      const whole = withinNoise(output, noises['log'] as (line: number) => string)
      const { text, handle } = await manager.offload('run_command', {}, whole)
      const mark = String(handle).slice('ctx_'.length)
      const [, content = ''] = text.split(`<stored-output-${mark}>\n`)
      const shown = content.slice(0, content.indexOf(`</stored-output-${mark}>`))
      const note = new RegExp(`^\\[… (\\d+) bytes of stored-output-${mark} left out …\\]\\n`, 'gm')
      // A note after a line that is cut begins a line of its own.
      const pieces = shown.split(note).filter((_, index) => index % 2 === 0)
      let end = 0
      for (const [index, leftOut] of [...[...shown.matchAll(note)].map(([, bytes]) => Number(bytes)), 0].entries()) {
        const piece = (pieces[index] ?? '').replace(/\n$/, '')
        holds(whole.startsWith(piece, end), `${piece} is not at ${end}`)
        end += piece.length
        end += Number(whole[end] === '\n' && piece !== '')
        end += leftOut
      }
      assert.equal(end, whole.length)
    }
  })
})
