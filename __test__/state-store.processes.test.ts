/** `StateStore` shared by processes that are killed, on disks that are full, and on files that are no stores. */

import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { spawnSync } from 'node:child_process'
import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { StateStore } from '../dist/index.js'
import { isRoot, rejectsWith } from './support/fixtures.ts'
import { holds, inDirectory, namesIn, PATIENT, run, runtimeParameters } from './support/processes.ts'
import { stateStorm } from './support/state-storm.ts'

test(
  'eight processes, three of them killed: nothing acknowledged is lost, no update either, and a watcher misses nothing',
  { timeout: 300_000 },
  inDirectory((directory) => stateStorm(directory, 1200)),
)

const skipLimits = process.platform === 'win32' ? 'needs ulimit' : false

test(
  'a file that cannot grow, wherever that stops a change: a coded error, and the old data is there',
  { ...PATIENT, skip: skipLimits },
  inDirectory(async (directory) => {
    const script = fileURLToPath(new URL('./children/state-writer.mjs', import.meta.url))
    // The limits end the write-ahead log, and the database that it is written back to, in many places. Reading needs 32 KiB of
    // shared memory.
    for (const kilobytes of [33, 40, 48, 57, 66, 80, 121, 200, 333, 1000, 5000]) {
      const path = join(directory, `state-${kilobytes}.db`)
      const before = new StateStore({ path })
      await before.put(['old'], 'k', 'kept')
      await before.close()
      const command = [process.execPath, ...runtimeParameters(process.execPath), script, path, 'fill', '0', '0']
      const quoted = command.map((word) => `'${word}'`).join(' ')
      // Without the signal, a write that is too long fails as on a full disk.
      const { stdout, stderr } = spawnSync('bash', ['-c', `trap '' XFSZ; ulimit -f ${kilobytes}; exec ${quoted}`], {
        input: 'go\n',
        encoding: 'utf8',
      })
      const lines = stdout.split('\n').slice(0, -1)
      assert.equal(lines.at(-1), 'done', stdout + stderr)
      assert.deepEqual(lines.slice(-3, -1), ['ERR_CONTEXT_IO', 'kept'], `${kilobytes} KiB`)
      const acknowledged = lines.filter((line) => line.startsWith('acknowledged')).length
      const store = new StateStore({ path })
      assert.equal((await store.get(['old'], 'k'))?.value, 'kept')
      const { items } = await store.list(['fill'], { limit: 10_000 })
      assert.equal(items.length, acknowledged, `${kilobytes} KiB`)
      assert.deepEqual((await store.verify()).problems, [])
      await store.put(['fill'], 'again', 1)
      await store.close()
    }
  }),
)

test(
  'files that are no stores are refused, named, and stay what they are',
  inDirectory(async (directory) => {
    const path = join(directory, 'state.db')
    const contents = ['some text', 'SQLite format 3\0 and then something else', '\0'.repeat(4096)]
    for (const content of contents) {
      writeFileSync(path, content)
      const store = new StateStore({ path })
      for (const call of [
        () => store.get(['a'], 'k'),
        () => store.put(['a'], 'k', 1),
        () => store.list([]),
        () => store.stats(),
        () => store.verify(),
        () => store.sweep(),
        () => store.backup(join(directory, 'copy.db')),
        () => store.watch([])[Symbol.asyncIterator]().next(),
      ]) {
        const error = await rejectsWith(call, 'ERR_CONTEXT_CORRUPT')
        holds(error.message.includes(path), error.message)
      }
      await store.close()
      assert.equal(readFileSync(path, 'utf8'), content)
      assert.deepEqual(namesIn(directory), ['state.db'])
    }
    const nowhere = new StateStore({ path: join(path, 'state.db') })
    await rejectsWith(() => nowhere.get(['a'], 'k'), 'ERR_CONTEXT_IO')
  }),
)

test(
  'a damaged file is reported, and is not changed by reading',
  inDirectory(async (directory) => {
    const path = join(directory, 'state.db')
    const store = new StateStore({ path })
    await Promise.all(Array.from({ length: 300 }, (_, n) => store.put(['a'], `k${n}`, 'x'.repeat(300))))
    await store.backup(join(directory, 'copy.db'))
    await store.close()
    const whole = readFileSync(path)
    const middle = Math.floor(whole.length / 2)
    const damaged = Buffer.concat([whole.subarray(0, middle), Buffer.alloc(4096, 0xa5), whole.subarray(middle + 4096)])
    writeFileSync(path, damaged)
    const examined = new StateStore({ path })
    holds((await examined.verify()).problems.length > 0, 'the damage is not reported')
    await examined.close()
    assert.deepEqual(readFileSync(path), damaged)
    const half = whole.subarray(0, middle)
    writeFileSync(path, half)
    const refused = new StateStore({ path })
    for (const call of [() => refused.list([]), () => refused.put(['a'], 'k', 1), () => refused.verify()]) {
      await rejectsWith(call, 'ERR_CONTEXT_CORRUPT', /restore it from a backup/)
    }
    await refused.close()
    assert.deepEqual(readFileSync(path), half)
    const copy = new StateStore({ path: join(directory, 'copy.db') })
    assert.equal((await copy.list([], { limit: 1000 })).items.length, 300)
    await copy.close()
  }),
)

test(
  'a file that may not be written: reads succeed, changes are refused',
  { skip: isRoot ? 'root may write everything' : skipLimits },
  inDirectory(async (directory) => {
    const path = join(directory, 'state.db')
    const store = new StateStore({ path })
    await store.put(['a'], 'k', 1)
    await store.close()
    chmodSync(path, 0o400)
    const read = new StateStore({ path })
    assert.equal((await read.get(['a'], 'k'))?.value, 1)
    await rejectsWith(() => read.put(['a'], 'k', 2), 'ERR_CONTEXT_IO', /state\.db/)
    await read.close()
  }),
)

const skipMemory =
  'Bun' in globalThis || 'Deno' in globalThis || process.platform !== 'linux'
    ? 'needs --expose-gc of Node, and /proc'
    : false

for (const kind of ['bytes', 'text']) {
  test(
    `${kind} of 64 MiB take 1.5 times that in memory at most`,
    { ...PATIENT, skip: skipMemory },
    inDirectory(async (directory) => {
      const size = 64 * 1024 * 1024
      const lines = await run('state-large.mjs', [join(directory, 'state.db'), size, kind], { flags: ['--expose-gc'] })
      for (const [index, name] of ['put', 'get'].entries()) {
        const taken = Number(lines[index])
        holds(taken > 0 && taken <= 1.5 * size, `${name} takes ${taken} bytes`)
      }
    }),
  )
}
