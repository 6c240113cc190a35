/** `sessionContract`: a `Session` of the OpenAI Agents SDK. */

import assert from 'node:assert/strict'
import { type Cases, type ContractOptions, registerCases } from './register.ts'

/** The methods of a session that are tested. */
export interface SessionSubject {
  getSessionId(): Promise<string>
  getItems(limit?: number): Promise<unknown[]>
  addItems(items: never[]): Promise<void>
  popItem(): Promise<unknown>
  clearSession(): Promise<void>
  /** If it is implemented, its cases are tested too. */
  applyHistoryTransaction?(change: never): Promise<void>
}

const itemOf = (content: string) => ({ role: 'user', content })
const itemsOf = (...contents: string[]) => contents.map(itemOf) as never[]

const cases: Cases<SessionSubject> = {
  alone: {
    async 'begins empty, with an id'(session) {
      assert.deepEqual(await session.getItems(), [])
      assert.equal(await session.popItem(), undefined)
      const id = await session.getSessionId()
      assert.ok(typeof id === 'string' && id !== '', 'the id is a non-empty string')
      assert.equal(await session.getSessionId(), id)
    },
    async 'keeps items in their order, and gives the latest of them'(session) {
      await session.addItems(itemsOf('one', 'two'))
      await session.addItems([])
      await session.addItems(itemsOf('three'))
      assert.deepEqual(await session.getItems(), itemsOf('one', 'two', 'three'))
      assert.deepEqual(await session.getItems(2), itemsOf('two', 'three'))
      assert.deepEqual(await session.getItems(9), itemsOf('one', 'two', 'three'))
    },
    async 'keeps equal items, and what JSON can hold'(session) {
      const item = { role: 'user', content: 'ünï \u0000 "quoted"', list: [1.5, null, { deep: [true] }] } as never
      await session.addItems([item, item])
      assert.deepEqual(await session.getItems(), [item, item])
    },
    async 'pops the latest item once'(session) {
      await session.addItems(itemsOf('one', 'two'))
      assert.deepEqual(await session.popItem(), itemOf('two'))
      await session.addItems(itemsOf('three'))
      assert.deepEqual(await session.getItems(), itemsOf('one', 'three'))
    },
    async 'is empty once it is cleared, and can be used again'(session) {
      await session.addItems(itemsOf('one', 'two'))
      await session.clearSession()
      assert.deepEqual(await session.getItems(), [])
      await session.addItems(itemsOf('three'))
      assert.deepEqual(await session.getItems(), itemsOf('three'))
    },
    async 'does not change with the objects that it was given or gave'(session) {
      const [given] = itemsOf('one') as unknown as { content: string }[]
      await session.addItems([given as never])
      Object.assign(given as object, { content: 'changed' })
      Object.assign((await session.getItems())[0] as object, { content: 'changed' })
      assert.deepEqual(await session.getItems(), itemsOf('one'))
    },
    async 'loses no item that is added while others are'(session) {
      const names = Array.from({ length: 25 }, (_, index) => `item ${index}`)
      await Promise.all(names.map((name) => session.addItems(itemsOf(name))))
      assert.deepEqual(contentsOf(await session.getItems()), names.sort())
    },
    async 'applies a transaction of history once'(session) {
      const apply = session.applyHistoryTransaction?.bind(session)
      if (apply === undefined) {
        return
      }
      const append = (...names: string[]) => ({ type: 'append_items', items: itemsOf(...names) })
      const change = (operationId: string, transaction: object) => apply({ operationId, transaction } as never)
      await change('one', append('one', 'two'))
      await change('one', append('one', 'two'))
      await assert.rejects(change('one', append('other')))
      await change('two', { type: 'replace_suffix', expectedSuffix: itemsOf('two'), replacement: itemsOf('three') })
      const stale = { type: 'replace_suffix', expectedSuffix: itemsOf('two'), replacement: itemsOf('four') }
      await assert.rejects(change('three', stale))
      assert.deepEqual(await session.getItems(), itemsOf('one', 'three'))
    },
  },
  reopened: {
    async 'has its items when it is opened again'(session, reopen) {
      await session.addItems(itemsOf('one', 'two'))
      await session.popItem()
      assert.deepEqual(await (await reopen()).getItems(), itemsOf('one'))
    },
    async 'gives each item to one of two that pop at once'(session, reopen) {
      const other = await reopen()
      const names = Array.from({ length: 12 }, (_, index) => `item ${index}`)
      await session.addItems(itemsOf(...names))
      const popped = await Promise.all(names.map((_, index) => (index % 2 === 0 ? session : other).popItem()))
      assert.deepEqual(contentsOf(popped), names.sort())
    },
  },
}

function contentsOf(items: readonly unknown[]): string[] {
  return items.map((item) => (item as { content: string } | undefined)?.content ?? 'none').sort()
}

/** Registers tests of the behaviour that the OpenAI Agents SDK expects of a `Session`. */
export function sessionContract<Subject extends SessionSubject>(options: ContractOptions<Subject>): void {
  registerCases(options, cases)
}
