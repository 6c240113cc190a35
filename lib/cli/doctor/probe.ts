/** Writes, locks and removes in a folder of its own, with the library, as an agent would. */

import { randomBytes } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { library } from '../places.ts'
import { type Check, failed } from './check.ts'
import { nearestExisting } from './folder.ts'

/** @param directory where something is to be stored; it need not be there */
export async function probe(name: string, directory: string, said: string): Promise<Check> {
  const { ContextHistory } = await library()
  const folder = join(await nearestExisting(directory), `.agent-context-doctor-${randomBytes(6).toString('hex')}`)
  try {
    const history = new ContextHistory({ path: join(folder, 'probe.jsonl') })
    await history.append({ toolName: 'doctor' })
    // Needs locks that bind every process.
    await history.compact({ keepLast: 0 })
    await history.close()
    return { name, status: 'ok', message: said }
  } catch (error) {
    return failed(name, error)
  } finally {
    await rm(folder, { recursive: true, force: true }).catch(() => undefined)
  }
}
