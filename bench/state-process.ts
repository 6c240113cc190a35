/** One of the processes of `bench/state.ts`: parameters are the contender, the directory, its number, and how many calls of 8 puts and gets. */

import process from 'node:process'
import { Peers } from './peer-packages.ts'
import { CONTENDERS, PEERS } from './state-contenders.ts'
import { threadClock, threadTimeSince } from './thread-time.ts'

const [contender = '', directory = '', number = '', calls = ''] = process.argv.slice(2)
const store = await CONTENDERS[Number(contender)]?.(directory, await Peers.load(PEERS))
const value = { role: 'assistant', text: 'word '.repeat(819) }

process.stdin.once('data', async () => {
  const start = threadClock.read()
  for (let call = 0; call < Number(calls); call++) {
    const keys = Array.from({ length: 8 }, (_, index) => `process-${number}-${(call * 8 + index) % 200}`)
    await store?.put(keys, value)
    await store?.get(keys)
  }
  process.stdout.write(`${threadTimeSince(start)}\n`)
  await store?.close()
  process.exit()
})
process.stdout.write('ready\n')
