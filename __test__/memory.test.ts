import assert from 'node:assert/strict'
import { test } from 'node:test'
import { holds, inDirectory, namesIn, PATIENT, run } from './support/processes.ts'

const MIB = 1024 * 1024

/** Deno's heap levels off later than these marks: 180 to 200 MiB after 80 000 outputs, with plateaus on the way. */
const skip = 'Deno' in globalThis ? 'the marks are too early for Deno' : false

interface Measured {
  halfway: number
  end: number
  memoryBytes: number
  diskContexts: number
  whole: number
  sample: number
}

test(
  '20 000 outputs of 20 KB through a budget of 16 MiB: resident memory levels off and all can be loaded',
  { ...PATIENT, skip },
  inDirectory(async (contextDir) => {
    const [line = ''] = await run('memory.mjs', [contextDir])
    const { halfway, end, memoryBytes, diskContexts, whole, sample } = JSON.parse(line) as Measured
    const mebibytes = (bytes: number): string => (bytes / MIB).toFixed(1)
    console.log(`resident: ${mebibytes(halfway)} MiB after 10 000, ${mebibytes(end)} MiB after 20 000 outputs`)
    holds(end - halfway < 30 * MIB, `grew by ${mebibytes(end - halfway)} MiB`)
    holds(memoryBytes <= 16 * MIB)
    assert.equal(diskContexts, 20_000)
    assert.equal(whole, sample)
    assert.deepEqual(namesIn(contextDir), [])
  }),
)
