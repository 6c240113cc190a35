/** `sessionStoreContract`: a `SessionStore` of the Claude Agent SDK. */

import assert from 'node:assert/strict'
import { type Cases, type ContractOptions, registerCases } from './register.ts'

/** The methods of a transcript store that are tested. The cases of an optional method pass if the store does not have it. */
export interface SessionStoreSubject {
  append(key: never, entries: never[]): Promise<void>
  load(key: never): Promise<unknown[] | null>
  listSessions?(projectKey: string): Promise<{ sessionId: string; mtime: number }[]>
  listSubkeys?(key: never): Promise<string[]>
  delete?(key: never): Promise<void>
}

const keyOf = (sessionId: string, subpath?: string, projectKey = 'project') =>
  ({ projectKey, sessionId, ...(subpath !== undefined && { subpath }) }) as never
const entriesOf = (...uuids: string[]) =>
  uuids.map((uuid) => ({ type: 'user', uuid, message: { content: `ünï ${uuid}`, list: [1, null] } })) as never[]

const cases: Cases<SessionStoreSubject> = {
  alone: {
    async 'gives null for what was never appended to'(store) {
      assert.equal(await store.load(keyOf('none')), null)
      assert.deepEqual((await store.listSessions?.('project')) ?? [], [])
    },
    async 'gives entries in the order in which they were appended'(store) {
      await store.append(keyOf('one'), entriesOf('z', 'a'))
      await store.append(keyOf('one'), entriesOf('m'))
      assert.deepEqual(await store.load(keyOf('one')), entriesOf('z', 'a', 'm'))
    },
    async 'keeps entries without a uuid, equal ones as well'(store) {
      const title = { type: 'custom-title', title: 'one' } as never
      await store.append(keyOf('one'), [title, title])
      await store.append(keyOf('one'), [title])
      assert.deepEqual(await store.load(keyOf('one')), [title, title, title])
    },
    async 'keeps projects, sessions and sub-agents apart'(store) {
      const keys = [keyOf('one'), keyOf('two'), keyOf('one', 'agent'), keyOf('one', undefined, 'other')]
      for (const [index, key] of keys.entries()) {
        await store.append(key, entriesOf(`entry ${index}`))
      }
      for (const [index, key] of keys.entries()) {
        assert.deepEqual(await store.load(key), entriesOf(`entry ${index}`))
      }
    },
    async 'lists the sessions of a project, and the sub-agents of a session'(store) {
      for (const key of [keyOf('one'), keyOf('one', 'agents/a'), keyOf('two'), keyOf('three', undefined, 'other')]) {
        await store.append(key, entriesOf('entry'))
      }
      const sessions = await store.listSessions?.('project')
      if (sessions !== undefined) {
        assert.deepEqual(sessions.map(({ sessionId }) => sessionId).sort(), ['one', 'two'])
        assert.ok(sessions.every(({ mtime }) => Number.isSafeInteger(mtime) && mtime > 0))
      }
      assert.deepEqual((await store.listSubkeys?.(keyOf('one'))) ?? ['agents/a'], ['agents/a'])
      assert.deepEqual((await store.listSubkeys?.(keyOf('two'))) ?? [], [])
    },
    async 'deletes a session with its sub-agents, and nothing else'(store) {
      if (store.delete === undefined) {
        return
      }
      for (const key of [keyOf('one'), keyOf('one', 'agent'), keyOf('two')]) {
        await store.append(key, entriesOf('entry'))
      }
      await store.delete(keyOf('one'))
      assert.equal(await store.load(keyOf('one')), null)
      assert.equal(await store.load(keyOf('one', 'agent')), null)
      assert.deepEqual(await store.load(keyOf('two')), entriesOf('entry'))
      await store.append(keyOf('one'), entriesOf('again'))
      assert.deepEqual(await store.load(keyOf('one')), entriesOf('again'))
    },
    async 'keeps the order of calls that do not wait for each other'(store) {
      const names = Array.from({ length: 20 }, (_, index) => `entry ${index}`)
      await Promise.all(names.map((name) => store.append(keyOf('one'), entriesOf(name))))
      assert.deepEqual(await store.load(keyOf('one')), entriesOf(...names))
    },
  },
  reopened: {
    async 'has its sessions when it is opened again, and an entry that is appended again once'(store, reopen) {
      await store.append(keyOf('one'), entriesOf('a', 'b'))
      const other = await reopen()
      await other.append(keyOf('one'), entriesOf('b', 'c'))
      assert.deepEqual(await other.load(keyOf('one')), entriesOf('a', 'b', 'c'))
    },
  },
}

/** Registers tests of the behaviour that the Claude Agent SDK expects of a `SessionStore`. */
export function sessionStoreContract<Subject extends SessionStoreSubject>(options: ContractOptions<Subject>): void {
  registerCases(options, cases)
}
