import assert from 'node:assert/strict'
import { test } from 'node:test'
import { holds, inDirectory, namesIn, PATIENT, run } from './support/processes.ts'

const MIB = 1024 * 1024

/** Deno's heap levels off later than these marks: 180 to 200 MiB after 80 000 outputs, with plateaus on the way. */
const skip = 'Deno' in globalThis ? 'the marks are too early for Deno' : false

interface Measured {
  /** After every 10 000 outputs, which are 200 MB. */
  resident: [number, number, number, number]
  memoryBytes: number
  diskContexts: number
  whole: number
  sample: number
}

test(
  '40 000 outputs of 20 KB through a budget of 16 MiB: resident memory levels off and all can be loaded',
  { ...PATIENT, skip },
  inDirectory(async (contextDir) => {
    const [line = ''] = await run('memory.mjs', [contextDir])
    const { resident, memoryBytes, diskContexts, whole, sample } = JSON.parse(line) as Measured
    const mebibytes = (bytes: number): string => (bytes / MIB).toFixed(1)
    console.log(`resident, MiB, after every 10 000 outputs: ${resident.map(mebibytes).join(', ')}`)
    // Engines and allocators take what they like and keep it: half of what passes is never there…
    const [, second, third, last] = resident
    holds(Math.max(...resident) < 400 * MIB)
    // … and once they have settled, which some do late, hardly more stays of 200 MB than the pointers.
    const growth = Math.min(third - second, last - third)
    holds(growth < 45 * MIB, `grew by ${mebibytes(growth)} MiB`)
    holds(memoryBytes <= 16 * MIB)
    assert.equal(diskContexts, 40_000)
    assert.equal(whole, sample)
    assert.deepEqual(namesIn(contextDir), [])
  }),
)
