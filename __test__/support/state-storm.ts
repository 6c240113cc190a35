/** Eight processes that change one state store at the same time, three of which are killed, and a watcher that follows them. */

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { StateStore } from '../../dist/index.js'
import { holds, linesOf, start } from './processes.ts'

/** A watcher follows all changes of some processes; returns how many items it leaves. */
async function follow(store: StateStore, since: string, isOver: () => boolean): Promise<Map<string, string>> {
  const items = new Map<string, string>()
  const controller = new AbortController()
  let sequence = Number(since.split('-')[1])
  const ended = setInterval(async () => {
    const { cursor } = await store.stats()
    if (isOver() && Number(cursor.split('-')[1]) === sequence) {
      clearInterval(ended)
      controller.abort()
    }
  }, 50)
  try {
    for await (const change of store.watch([], { since, signal: controller.signal })) {
      const at = Number(change.cursor.split('-')[1])
      assert.equal(at, sequence + 1, 'a change was missed')
      sequence = at
      const place = JSON.stringify([change.namespace, change.key])
      if (change.type === 'put') {
        items.set(place, change.revision)
      } else {
        items.delete(place)
      }
    }
  } catch (error) {
    assert.equal((error as Error).name, 'AbortError')
  }
  return items
}

/**
 * Nothing acknowledged is lost, no update under `ifRevision` either, and the watcher misses nothing.
 *
 * @param count operations of each process
 */
export async function stateStorm(directory: string, count: number): Promise<void> {
  const path = join(directory, 'state.db')
  const store = new StateStore({ path, maxChanges: Number.MAX_SAFE_INTEGER })
  const { cursor } = await store.stats()
  const children = Array.from({ length: 8 }, (_, number) => start('state-writer.mjs', [path, 'mixed', number, count]))
  await Promise.all(children.map((child) => child.line()))
  let running = children.length
  const watched = follow(store, cursor, () => running === 0)
  for (const child of children) {
    child.send('go')
  }
  const killed = children.slice(0, 3).map(async (child, index) => {
    for (let lines = 0; lines < (count / 6) * (index + 1); lines++) {
      await child.line()
    }
    child.process.kill('SIGKILL')
  })
  await Promise.all(killed)
  const ended = await Promise.all(
    children.map(async (child) => {
      const end = await child.ended
      running--
      return end
    }),
  )
  let counted = 0
  for (const [number, end] of ended.entries()) {
    const lines = linesOf(end)
    assert.equal(lines.at(-1) === 'done', number >= 3, end.stderr)
    const last = new Map<string, number | undefined>()
    for (const line of lines) {
      const [key = '', index] = line.split(' ')
      if (key === 'count') {
        counted++
      } else if (index !== undefined) {
        last.set(key, index === 'none' ? undefined : Number(index))
      }
    }
    for (const [key, index] of last) {
      const found = await store.get(['own', String(number)], key)
      const value = (found?.value as { index: number } | undefined)?.index
      if (number >= 3) {
        assert.equal(value, index, key)
      } else if (value !== index) {
        // A change that was not acknowledged may be there: it is a later one of the same key.
        holds(value === undefined || index === undefined || value > index, `${key}: ${index} became ${value}`)
      }
    }
  }
  const total = (await store.get(['shared'], 'count'))?.value as number
  holds(total >= counted && total <= counted + 3, `${counted} were counted, and the count is ${total}`)
  const items = new Map<string, string>()
  for (let page = await store.list([]), isMore = true; isMore; isMore = page.cursor !== undefined) {
    for (const { namespace, key, revision } of page.items) {
      items.set(JSON.stringify([namespace, key]), revision)
    }
    if (page.cursor !== undefined) {
      page = await store.list([], { cursor: page.cursor })
      for (const { namespace, key, revision } of page.items) {
        items.set(JSON.stringify([namespace, key]), revision)
      }
    }
  }
  assert.deepEqual(new Map([...(await watched)].sort()), new Map([...items].sort()))
  assert.deepEqual((await store.verify()).problems, [])
  await store.close()
}
