/** The five places where things are stored. */

import { dirname } from 'node:path'
import type { Invocation } from '../command-types.ts'
import { counted } from '../output/units.ts'
import { openHistory, openManager, openMemory, openState, openStore, shortPath } from '../places.ts'
import { isThere } from '../state-items.ts'
import { type Check, failed } from './check.ts'
import { checkFolder } from './folder.ts'
import { probe } from './probe.ts'

export async function checkContexts(invocation: Invocation): Promise<Check[]> {
  return checked('contexts', async () => {
    const manager = await openManager(invocation)
    const directory = manager.getContextDir()
    const pointers = await manager.listContexts(undefined, { signal: invocation.signal })
    return { directory, said: `${counted(pointers.length, 'output')} in ${shortPath(directory)}` }
  })
}

export async function checkHistory(invocation: Invocation): Promise<Check[]> {
  return checked('history', async () => {
    const history = await openHistory(invocation)
    const [latest] = await history.read(1)
    const said = latest === undefined ? 'no entries yet in' : 'readable:'
    return { directory: dirname(history.path), said: `${said} ${shortPath(history.path)}` }
  })
}

export async function checkStore(invocation: Invocation): Promise<Check[]> {
  return checked('store', async () => {
    const store = await openStore(invocation)
    const entries = await store.list({ signal: invocation.signal })
    return { directory: store.path, said: `${counted(entries.length, 'entry', 'entries')} in ${shortPath(store.path)}` }
  })
}

export async function checkMemory(invocation: Invocation): Promise<Check[]> {
  return checked('memory', async () => {
    const memory = await openMemory(invocation)
    const { conventions, decisions, notes } = await memory.getRepoMemory()
    const count = conventions.length + decisions.length + notes.length
    return {
      directory: memory.directory,
      said: `${counted(count, 'record')} about ${shortPath(memory.workspace ?? memory.repoHash)}`,
    }
  })
}

export async function checkState(invocation: Invocation): Promise<Check[]> {
  return checked('state', async () => {
    const store = await openState(invocation)
    try {
      const count = (await isThere(store)) ? (await store.stats({ signal: invocation.signal })).items : 0
      return { directory: dirname(store.path), said: `${counted(count, 'item')} in ${shortPath(store.path)}` }
    } finally {
      await store.close()
    }
  })
}

/** Reads what is there, then tries to write beside it. */
async function checked(name: string, read: () => Promise<{ directory: string; said: string }>): Promise<Check[]> {
  try {
    const { directory, said } = await read()
    const folder = await checkFolder(name, directory)
    return [await probe(name, directory, said), ...folder]
  } catch (error) {
    return [failed(name, error)]
  }
}
