/** The five places where things are stored. */

import { dirname } from 'node:path'
import type { Invocation } from '../command-types.ts'
import { counted } from '../output/units.ts'
import { openHistory, openManager, openMemory, openState, openStore, placeText, shortPath } from '../places.ts'
import { isThere } from '../state-items.ts'
import { type Check, failed } from './check.ts'
import { checkFolder } from './folder.ts'
import { probe, probeDatabase } from './probe.ts'

export async function checkContexts(invocation: Invocation): Promise<Check[]> {
  return checked(invocation, 'contexts', async () => {
    const manager = await openManager(invocation)
    const directory = manager.getContextDir()
    const pointers = await manager.listContexts(undefined, { signal: invocation.signal })
    return { directory, said: `${counted(pointers.length, 'output')} in ${placeText(directory, invocation)}` }
  })
}

export async function checkHistory(invocation: Invocation): Promise<Check[]> {
  return checked(invocation, 'history', async () => {
    const history = await openHistory(invocation)
    const [latest] = await history.read(1)
    const said = latest === undefined ? 'no entries yet in' : 'readable:'
    return { directory: dirname(history.path), said: `${said} ${placeText(history.path, invocation)}` }
  })
}

export async function checkStore(invocation: Invocation): Promise<Check[]> {
  return checked(invocation, 'store', async () => {
    const store = await openStore(invocation)
    const entries = await store.list({ signal: invocation.signal })
    const said = `${counted(entries.length, 'entry', 'entries')} in ${placeText(store.path, invocation)}`
    return { directory: store.path, said }
  })
}

export async function checkMemory(invocation: Invocation): Promise<Check[]> {
  return checked(invocation, 'memory', async () => {
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
  return checked(invocation, 'state', async () => {
    const store = await openState(invocation)
    try {
      const count = (await isThere(store, invocation)) ? (await store.stats({ signal: invocation.signal })).items : 0
      return {
        directory: dirname(store.path),
        said: `${counted(count, 'item')} in ${placeText(store.path, invocation)}`,
      }
    } finally {
      await store.close()
    }
  })
}

/** Reads what is there, then tries to write beside it: in a directory beside it, or in a namespace of the database. */
async function checked(
  invocation: Invocation,
  name: string,
  read: () => Promise<{ directory: string; said: string }>,
): Promise<Check[]> {
  try {
    const { directory, said } = await read()
    if (invocation.settings.database !== undefined) {
      return [await probeDatabase(invocation, name, said)]
    }
    const folder = await checkFolder(name, directory)
    return [await probe(name, directory, said), ...folder]
  } catch (error) {
    return [failed(name, error)]
  }
}
