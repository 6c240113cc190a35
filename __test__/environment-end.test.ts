/** Calls of the native side in an environment whose objects are finalised: Deno runs JavaScript after that. */

import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { test } from 'node:test'

interface Addon {
  readonly Outbox: new (wake: () => void) => { readonly number: number }
  takeMessages(outbox: number, numbers: Int32Array): string | null
  nextText(outbox: number, operation: number): string | null
  contentOfCall(outbox: number, call: number): string | null
  answerCall(outbox: number, call: number, isFailure: boolean, text: string): void
}

const addon = createRequire(import.meta.url)('../native.cjs') as Addon

test('a queue without messages and one that does not exist answer with nothing', () => {
  const { number } = new addon.Outbox(() => {})
  for (const outbox of [number, 0xffffffff]) {
    const numbers = new Int32Array(3).fill(7)
    assert.equal(addon.takeMessages(outbox, numbers), null)
    assert.equal(numbers[0], 0)
    assert.equal(addon.nextText(outbox, 1), null)
    assert.equal(addon.contentOfCall(outbox, 1), null)
    addon.answerCall(outbox, 1, false, 'nothing waits for it')
  }
})
