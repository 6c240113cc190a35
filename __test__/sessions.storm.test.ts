/** Sessions of many short processes, and a process that runs for a week by the clock of the program `faketime`. */

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import process from 'node:process'
import { test } from 'node:test'
import { ContextManager } from '../dist/index.js'
import {
  contextsIn,
  holds,
  inDirectory,
  leasesIn,
  namesIn,
  PATIENT,
  run,
  runtimeParameters,
  scriptOf,
  temporariesIn,
} from './support/processes.ts'

/** Why the clock cannot be another; `false` where it can. In CI what is needed must be there. */
const skip: string | false = (() => {
  if (spawnSync('faketime', ['--version']).status === 0) {
    return false
  }
  assert.notEqual(process.env['CI'], 'true', 'CI has faketime')
  return 'needs the program faketime (Debian package faketime)'
})()

interface Week {
  readonly sweeps: readonly { hours: number; files: number }[]
  readonly most: number
  readonly size: number
  readonly days: readonly number[]
}

test(
  'a process sweeps what ended sessions left, and keeps to its own bounds, for a week',
  { ...PATIENT, skip },
  inDirectory(async (contextDir) => {
    // A week takes ten seconds. Files have the system's times, which must not be later.
    const clock = ['-m', '-f', '@2100-01-01 00:00:00 x60000']
    const parameters = [...runtimeParameters(process.execPath), scriptOf('week.mjs'), contextDir]
    const child = spawnSync('faketime', [...clock, process.execPath, ...parameters], { encoding: 'utf8' })
    assert.equal(child.status, 0, child.stderr)
    const { sweeps, most, size, days } = JSON.parse(child.stdout) as Week
    // What was left on days 0 to 4 is two and a half days old before the week is over.
    assert.equal(
      sweeps.reduce((sum, { files }) => sum + files, 0),
      5,
      child.stdout,
    )
    sweeps.forEach(({ hours }, day) => {
      holds(hours >= 24 * day + 60, `day ${day} was swept after ${hours} hours`)
      holds(hours < 24 * day + 72, `day ${day} was swept after ${hours} hours`)
    })
    assert.deepEqual(days, [5, 6])
    assert.equal(size, 50)
    // Its own, those of the days that are kept, and some that are still to go.
    holds(most < 80, `${most} files at once`)
    assert.deepEqual(temporariesIn(contextDir), [])
  }),
)

test(
  'a session of 200 short processes keeps 200 contexts, and leaves nothing else',
  PATIENT,
  inDirectory(async (contextDir) => {
    const handles: string[] = []
    for (let number = 0; number < 200; number += 2) {
      const both = [number, number + 1].map((number) =>
        run('conversation.mjs', [contextDir, 'hooks', number % 3 === 0 ? 'close' : 'exit', `step ${number}`]),
      )
      handles.push(...(await Promise.all(both)).flat())
    }
    assert.equal(contextsIn(contextDir).length, 200)
    const manager = new ContextManager({ contextDir, sessionId: 'hooks', resume: true })
    await manager.resume()
    assert.deepEqual(
      manager
        .getAllPointers()
        .map(({ handle }) => handle)
        .sort(),
      handles.sort(),
    )
    await manager.sweep()
    assert.deepEqual(temporariesIn(contextDir), [])
    assert.equal(leasesIn(contextDir).length, 1)
    assert.equal(namesIn(contextDir).length, 200 + 3, 'contexts, a lease, the session and the table')
    await manager.close()
  }),
)
