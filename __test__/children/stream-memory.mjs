// Reads a stream and prints by how much the most memory that was resident exceeds what was before, in bytes. Linux.
// Parameters: directory, kind (text, bytes, values), call (saveContext, recordStream, offload), MiB.
import { Buffer } from 'node:buffer'
import { readFileSync } from 'node:fs'
import { ContextManager } from '../../dist/index.js'

const [, , contextDir, kind, call, mebibytes] = process.argv
const total = Number(mebibytes) * 1024 * 1024
const LINE = 'src/module/file.ts:120:17 - a line of the log that says something of what was done, number '
const resident = (name) =>
  1024 * Number(new RegExp(`${name}:\\s+(\\d+)`).exec(readFileSync('/proc/self/status', 'utf8'))[1])

const kinds = {
  async *text() {
    for (let given = 0, line = 0; given < total; ) {
      let text = ''
      while (text.length < 65_536) {
        text += `${LINE}${line++}\n`
      }
      given += text.length
      yield text
    }
  },
  async *bytes() {
    // As a reader does that uses its memory again.
    const bytes = Buffer.alloc(65_536, 0xff)
    for (let given = 0; given < total; given += bytes.length) {
      bytes.writeUInt32LE(given % 0xffffffff, 0)
      yield bytes
    }
  },
  async *values() {
    for (let given = 0, id = 0; given < total; given += 160) {
      yield { id: id++, file: 'src/module/file.ts', text: LINE + id, tags: ['a', 'b'] }
    }
  },
}

const manager = new ContextManager({ contextDir })
await manager.saveContext('warm', {}, 'a first save')
const before = resident('VmRSS')
const started = performance.now()
const stream = kinds[kind]()
if (call === 'recordStream') {
  const recorded = manager.recordStream('tool', {}, stream)
  for await (const _ of recorded) {
    // Read to its end.
  }
  await recorded.stored
} else {
  await manager[call]('tool', {}, stream)
}
const growth = resident('VmHWM') - before
console.log(JSON.stringify({ growth, ms: Math.round(performance.now() - started) }))
await manager.clear()
