/** The lists of keys that objects have, remembered so that each list crosses to the native side once per value, not once per object. */

/** Limits of the remembered lists. */
const MAXIMUM_KEYS_PER_RECORD = 128
const MAXIMUM_KEY_UNITS = 64
const MAXIMUM_KEY_NODES = 4096
const MAXIMUM_NEW_NODES_PER_VALUE = 256

const EMPTY: object = {}

/**
 * A list of keys, by its last one: the remembered lists form a tree, in which an object finds its list. So each list
 * crosses once per value, not once per object.
 */
export class KeyNode {
  readonly key: string
  /** The child found last, tried first. */
  lastChild: KeyNode | undefined
  children: Map<string, KeyNode> | undefined
  /** The value (by its serial number) in which this list has the number `index`. */
  serial = 0
  index = 0
  /** All keys, once an object had exactly these; their JSON texts, once they had to cross. */
  keys: readonly string[] | undefined
  text: string | undefined
  lengths: readonly number[] = []

  constructor(key: string) {
    this.key = key
  }
}

let keyRoot = new KeyNode('')
let keyNodes = 0
let newKeyNodes = 0
/** The list found last at each depth: what lies side by side is mostly alike. */
let recentLists: KeyNode[] = []

/** The list found last at a depth. */
export function recentList(depth: number): KeyNode | undefined {
  return recentLists[depth]
}

/**
 * Whether an object has exactly these keys. `for … in` is the fastest enumeration of every engine; it also lists inherited keys,
 * which no list has, unless the caller extends `Object.prototype`.
 */
export function hasKeys(value: object, keys: readonly string[]): boolean {
  let index = 0
  for (const key in value) {
    if (key !== keys[index]) {
      return false
    }
    index++
  }
  return index === keys.length && !isPrototypeExtended()
}

function isPrototypeExtended(): boolean {
  for (const _key in EMPTY) {
    return true
  }
  return false
}

/** The list of these keys; `undefined` for keys that are not remembered. */
export function findKeyList(keys: readonly string[], depth: number): KeyNode | undefined {
  if (keys.length > MAXIMUM_KEYS_PER_RECORD) {
    return undefined
  }
  let node = keyRoot
  for (let index = 0; index < keys.length; index++) {
    const key = keys[index] as string
    let child = node.lastChild
    if (child === undefined || child.key !== key) {
      child = findChild(node, key)
      if (child === undefined) {
        return undefined
      }
      node.lastChild = child
    }
    node = child
  }
  node.keys ??= keys
  recentLists[depth] = node
  return node
}

function findChild(node: KeyNode, key: string): KeyNode | undefined {
  node.children ??= new Map()
  let child = node.children.get(key)
  if (child === undefined && key.length <= MAXIMUM_KEY_UNITS && newKeyNodes < MAXIMUM_NEW_NODES_PER_VALUE) {
    child = new KeyNode(key)
    node.children.set(key, child)
    newKeyNodes++
    keyNodes++
  }
  return child
}

/** Makes the JSON texts of a list's keys. */
export function completeKeyList(list: KeyNode): string {
  const texts = (list.keys ?? []).map((key) => `${JSON.stringify(key)}:`)
  list.lengths = texts.map((text) => text.length)
  list.text = texts.join('')
  return list.text
}

/** Called after each value: forgets all lists when there are too many. */
export function boundKeyLists(): void {
  newKeyNodes = 0
  if (keyNodes >= MAXIMUM_KEY_NODES) {
    keyRoot = new KeyNode('')
    keyNodes = 0
    recentLists = []
  }
}
