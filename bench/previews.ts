/**
 * How often a placeholder shows the line that names a failure, beside a beginning and an end of the same size:
 * `npm run bench:previews`. The outputs are those of `bench/failing-outputs.ts`, each within noise.
 */

import { Buffer } from 'node:buffer'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  failingOutputs,
  headAndTail,
  NOISE_LINES,
  noiseOnly,
  noises,
  withinNoise,
  wrappings,
} from '../__test__/support/failing-outputs.ts'
import { ContextManager } from '../dist/index.js'

/** Longer lines are cut. */
const COMPARED = 150

const outputs = failingOutputs()
const contextDir = mkdtempSync(join(tmpdir(), 'agent-context-previews-'))
const manager = new ContextManager({ contextDir })
const share = (count: number): string => `${((100 * count) / outputs.length).toFixed(1)} %`
console.log(`${outputs.length} failing outputs, ${NOISE_LINES} lines of noise before and after each\n`)
console.log('| result | noise | placeholder | beginning and end | mean bytes of both | ms a placeholder |')
console.log('|---|---|---|---|---|---|')
try {
  for (const [wrapping, wrap] of [['a text', (whole: string) => whole] as const, ...Object.entries(wrappings)]) {
    for (const [kind, noise] of Object.entries(noises)) {
      let [shown, truncated, bytes, milliseconds] = [0, 0, 0, 0]
      for (const { output, names } of outputs) {
        const result = wrap(withinNoise(output, noise), noiseOnly(noise))
        const whole = typeof result === 'string' ? result : JSON.stringify(result)
        const begin = performance.now()
        const { text } = await manager.offload('run_command', {}, result)
        milliseconds += performance.now() - begin
        const size = Buffer.byteLength(text)
        bytes += size
        shown += Number(text.includes(names.slice(0, COMPARED)))
        truncated += Number(headAndTail(whole, size).includes(names.slice(0, COMPARED)))
      }
      const mean = (sum: number): string => (sum / outputs.length).toFixed(1)
      console.log(
        `| ${wrapping} | ${kind} | ${share(shown)} | ${share(truncated)} | ${mean(bytes)} | ${mean(milliseconds)} |`,
      )
    }
  }
} finally {
  await manager.clear()
  rmSync(contextDir, { recursive: true, force: true })
}
