/** `approximateSize`: about how much memory a value takes, without calling any of its code. */

import { isAnyArrayBuffer, isProxy } from 'node:util/types'

/** The values that are looked at, so that the time is bounded. What a tool returns has its bytes in few of them. */
const MOST_VALUES = 1000
/** What a value takes beside the text or the bytes in it. */
const EACH = 16

/** The bytes of the texts and binary data in a value, as far as they are among its first values. */
export function approximateSize(value: unknown): number {
  let size = 0
  const waiting: unknown[] = [value]
  for (let looked = 0; waiting.length > 0 && looked < MOST_VALUES; looked++) {
    const next = waiting.pop()
    size += EACH
    if (typeof next === 'string') {
      size += next.length
    } else if (ArrayBuffer.isView(next) || isAnyArrayBuffer(next)) {
      size += next.byteLength
    } else if (typeof next === 'object' && next !== null && !isProxy(next)) {
      pushMembers(next, waiting)
    }
  }
  return size
}

/** Adds the members of an object or an array, without those that a getter returns. */
function pushMembers(value: object, waiting: unknown[]): void {
  const keys = Array.isArray(value)
    ? Array.from({ length: Math.min(value.length, MOST_VALUES) }, (_, at) => at)
    : Object.keys(value)
  for (const key of keys.slice(0, MOST_VALUES)) {
    waiting.push(Object.getOwnPropertyDescriptor(value, key)?.value)
  }
}
