/** Changes a session beside other processes: each adds its items, pops, and repeats one transaction. */

import { homedir } from 'node:os'
import { join } from 'node:path'
import { StateStore } from 'agent-context'
import { contextSession } from 'agent-context/openai-agents'

const [name = ''] = process.argv.slice(2)
const state = new StateStore({ path: join(homedir(), 'state.db') })
const session = contextSession<{ role: 'user'; content: string }>(state, { sessionId: 'shared' })
for (let index = 0; index < 30; index++) {
  await session.addItems([{ role: 'user', content: `${name} ${index}` }])
}
await session.applyHistoryTransaction({
  operationId: 'once',
  transaction: { type: 'append_items', items: [{ role: 'user', content: 'once' }] },
})
const popped = []
for (let index = 0; index < 10; index++) {
  popped.push((await session.popItem())?.content)
}
console.log(JSON.stringify(popped))
await state.close()
