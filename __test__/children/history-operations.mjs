// Appends to a history together with other processes, once its standard input says so, and prints a JSON line at the end.
// Parameters: path, `operations` or `chain`, how many.
// `operations`: appends that many operations, which every process has the same ids for; prints the ids of the entries returned.
// `chain`: appends until that many of its entries are there, each only behind the entry that it read last; prints its conflicts.
import { writeSync } from 'node:fs'
import process from 'node:process'
import { ContextHistory } from '../../dist/index.js'

const [path, mode, count] = process.argv.slice(2)
const history = new ContextHistory({ path, storage: process.env.AGENT_CONTEXT_TEST_DATABASE })

async function operations() {
  const entries = await Promise.all(
    Array.from({ length: Number(count) }, (_, number) =>
      history.append({ toolName: 'charge', params: { by: process.pid }, operationId: `operation ${number}` }),
    ),
  )
  return entries.map(({ id }) => id)
}

async function chain() {
  let conflicts = 0
  for (let written = 0; written < Number(count); ) {
    const [last] = await history.read(1)
    const previous = last?.id ?? null
    try {
      await history.append({ toolName: 'link', params: { previous } }, { ifLast: previous })
      written++
    } catch (error) {
      if (error.code !== 'ERR_CONTEXT_CONFLICT') {
        throw error
      }
      conflicts++
    }
  }
  return conflicts
}

process.stdin.once('data', async () => {
  writeSync(1, `${JSON.stringify(await (mode === 'chain' ? chain() : operations()))}\n`)
  process.exit()
})
writeSync(1, 'ready\n')
