/** What ended processes of `fleet-faults.ts` have left in the database and in the bucket. */

import { setTimeout } from 'node:timers/promises'
import { ContextManager, ContextStore, StateStore } from '../dist/index.js'
import { blobsOf, type FaultPlan, pathOf } from './fleet-plan.ts'

/** A process that is ended loses its locks and its session after this time, in ms. */
const LEASE = 6000

/** What remains of ended processes beyond the limits, which the tables' times are moved to. */
export async function leftBehind(plan: FaultPlan): Promise<string[]> {
  const { server, runs } = plan
  await setTimeout(LEASE + 1000)
  const [storage, blobs] = [server.url, blobsOf(plan)]
  const past = `(extract(epoch FROM now()) * 1000000)::bigint`
  // Unfinished files and uploads are removed after a day, owners of locks an hour after their last heartbeat.
  server.sql(`UPDATE agent_context.file SET modified = modified - 86400000000 WHERE directory = 'unfinished'`)
  server.sql('UPDATE agent_context.blob SET created = created - 86400000000 WHERE state = 0')
  server.sql(`UPDATE agent_context.lock_owner SET until = until - 3600000000 WHERE until < ${past}`)
  for (let run = 1; run <= runs; run++) {
    const path = pathOf(run)
    const manager = new ContextManager({ contextDir: path, storage, blobs, sessionId: 'cleaner' })
    await manager.saveContext('long', {}, 'x'.repeat(2_000_000))
    await manager.sweep()
    await manager.clear()
    await manager.close()
    const [state, store] = [new StateStore({ path, storage }), new ContextStore({ path, storage, agent: 'cleaner' })]
    await state.sweep()
    await store.write({ type: 'finding', slug: 'last', content: 'The locks of the store are free.' })
    await Promise.all([state.close(), store.close()])
  }
  // One heartbeat.
  const manager = new ContextManager({ contextDir: pathOf(1), storage, blobs, sessionId: 'cleaner' })
  await manager.saveContext('long', {}, 'x'.repeat(2_000_000))
  await setTimeout(4000)
  await manager.clear()
  // The object of its own output is removed in the background.
  await setTimeout(4000)
  await manager.close()
  const queries: Readonly<Record<string, string>> = {
    'parts without a file': 'part AS p WHERE NOT EXISTS (SELECT 1 FROM agent_context.file WHERE id = p.file)',
    'unfinished files': "file WHERE directory = 'unfinished'",
    'leases of ended processes': "file WHERE name LIKE '%.lease'",
    'temporary files': "file WHERE name LIKE '%.tmp'",
    'locks without a file': 'lock AS l WHERE NOT EXISTS (SELECT 1 FROM agent_context.file WHERE id = l.file)',
    'locks of ended processes': `lock AS l WHERE NOT EXISTS (SELECT 1 FROM agent_context.lock_owner WHERE id = l.owner AND until > ${past})`,
    'owners of locks': `lock_owner WHERE until < ${past}`,
    'rows of objects that no file has':
      'blob AS b WHERE NOT EXISTS (SELECT 1 FROM agent_context.file WHERE blob = b.id)',
    'rows of objects that are to be removed or uploaded': 'blob WHERE state <> 1',
    'parts of values without an item':
      'document_chunk AS c WHERE NOT EXISTS (SELECT 1 FROM agent_context.document AS d WHERE d.store = c.store AND d.sequence = c.sequence)',
  }
  const rows = Object.entries(queries).map(([name, from]): [string, number] => [
    name,
    Number(server.sql(`SELECT count(*) FROM agent_context.${from}`)),
  ])
  return [...rows, ...(await leftInBucket(plan))].flatMap(([name, count]) => (count === 0 ? [] : [`${count} ${name}`]))
}

/** Objects without a file, files without an object, and uploads that have not ended. */
async function leftInBucket({ server, bucket }: FaultPlan): Promise<[string, number][]> {
  const objects = new Set([...(await bucket.objects()).keys()].map((key) => key.slice(key.lastIndexOf('/') + 1)))
  const ofFiles = server.sql('SELECT blob FROM agent_context.file WHERE blob IS NOT NULL').split('\n').slice(0, -1)
  const files = new Set(ofFiles)
  return [
    ['objects without a file', [...objects].filter((id) => !files.has(id)).length],
    ['files without their object', ofFiles.filter((id) => !objects.has(id)).length],
    ['uploads that have not ended', await bucket.uploads()],
  ]
}
