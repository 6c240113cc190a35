// Changes a state store together with other processes, once its standard input says so. Parameters: path, mode, number, how many.
// `mixed`: puts, gets and deletes under keys of its own, and counts up a key of all under its revision; prints a line for each
// acknowledged change: the key and its last value, and `count` for each time it counted.
// `fill`: puts values until that fails; prints `acknowledged <n>`, then the code.
import { Buffer } from 'node:buffer'
import { writeSync } from 'node:fs'
import { StateStore } from '../../dist/index.js'

const [path, mode, number, count] = process.argv.slice(2)
const store = new StateStore({ path, lockTimeout: 60_000 })

/** Waits where the parent has not read what was printed before. */
function print(line) {
  const bytes = Buffer.from(`${line}\n`)
  for (let written = 0; written < bytes.length; ) {
    try {
      written += writeSync(1, bytes, written)
    } catch (error) {
      if (error.code !== 'EAGAIN') {
        throw error
      }
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5)
    }
  }
}

async function countUp() {
  for (;;) {
    const item = await store.get(['shared'], 'count')
    try {
      await store.put(['shared'], 'count', (item?.value ?? 0) + 1, { ifRevision: item?.revision ?? null })
      return print('count')
    } catch (error) {
      if (error.code !== 'ERR_CONTEXT_CONFLICT') {
        throw error
      }
    }
  }
}

async function change(index) {
  const key = `${number}-${index % 97}`
  if (index % 10 === 9) {
    await store.delete(['own', number], key)
    print(`${key} none`)
  } else {
    await store.put(['own', number], key, { index, text: 'x'.repeat(index % 500) })
    print(`${key} ${index}`)
    const read = await store.get(['own', number], key)
    if (read?.value.index !== index) {
      throw new Error(`${key} is ${JSON.stringify(read)}, not ${index}`)
    }
  }
}

async function mixed() {
  for (let index = 0; index < Number(count); index += 8) {
    // Eight keys at once, so that calls are written in groups.
    await Promise.all(Array.from({ length: 8 }, (_, offset) => change(index + offset)))
    if (index % 64 === 0) {
      await countUp()
    }
  }
}

async function fill() {
  for (let index = 0; ; index++) {
    try {
      await store.put(['fill'], `k${index}`, { index, text: 'x'.repeat(1500) })
    } catch (error) {
      print(error.code)
      print((await store.get(['old'], 'k'))?.value)
      return
    }
    print(`acknowledged ${index}`)
  }
}

process.stdin.once('data', async () => {
  await (mode === 'fill' ? fill() : mixed())
  print('done')
  process.exit()
})
print('ready')
