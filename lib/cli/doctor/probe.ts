/** Writes, locks and removes in a place of its own, with the library, as an agent would. */

import { randomBytes } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Invocation } from '../command-types.ts'
import { storageOf } from '../database.ts'
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

/** The same in a namespace of the database, with the class of the place: histories, items and files have tables of their own. */
export async function probeDatabase({ settings }: Invocation, name: string, said: string): Promise<Check> {
  const { ContextHistory, ContextManager, StateStore } = await library()
  const storage = storageOf(settings)
  // One state store for all probes: the row of a store stays.
  const [namespace, probe] = ['agent-context-doctor', randomBytes(6).toString('hex')]
  try {
    if (name === 'history') {
      const history = new ContextHistory({ path: `${namespace}/${probe}`, ...storage })
      await history.append({ toolName: 'doctor' })
      await history.compact({ keepLast: 0 })
      await history.close()
    } else if (name === 'state') {
      const state = new StateStore({ path: namespace, ...storage })
      await state.put(['doctor'], probe, true)
      await state.delete(['doctor'], probe)
      await state.close()
    } else {
      const manager = new ContextManager({ contextDir: `${namespace}/${probe}`, persist: 'all', ...storage })
      await manager.saveContext('doctor', {}, 'doctor')
      await manager.clear()
      await manager.close()
    }
    return { name, status: 'ok', message: said }
  } catch (error) {
    return failed(name, error)
  }
}
