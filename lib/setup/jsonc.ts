/** JSON with comments, edited in place: everything that is not changed keeps its bytes. */

import { createScanner, type Node, type ParseError, parseTree } from 'jsonc-parser'

/** A value with its place in the text. */
export interface JsonNode {
  readonly start: number
  readonly end: number
  readonly value: unknown
  /** Of an object or an array. */
  readonly children?: readonly JsonChild[]
  readonly isArray?: boolean
  /** Behind the last child, where there is a comma. */
  readonly afterComma?: number
}

interface JsonChild {
  readonly key: string
  /** Of the key, or of the value in an array. */
  readonly start: number
  readonly node: JsonNode
}

/** @throws SyntaxError with the line of what is no JSON */
export function parseJsonc(text: string): JsonNode {
  // The parser takes a byte order mark for a value.
  const marked = text.replace(/^\ufeff/, ' ')
  const errors: ParseError[] = []
  const root = parseTree(marked, errors, { allowTrailingComma: true })
  const [error] = errors
  if (root === undefined || error !== undefined) {
    const line = marked.slice(0, error?.offset ?? 0).split('\n').length
    throw new SyntaxError(`line ${line} is no JSON`)
  }
  return toNode(marked, root)
}

function toNode(text: string, node: Node): JsonNode {
  const end = node.offset + node.length
  const place = { start: node.offset, end }
  if (node.type !== 'object' && node.type !== 'array') {
    return { ...place, value: node.value as unknown }
  }
  const isArray = node.type === 'array'
  const children = (node.children ?? []).map((child, index): JsonChild => {
    const [key, value] = isArray ? [] : (child.children ?? [])
    return {
      key: key === undefined ? String(index) : String(key.value),
      start: child.offset,
      node: toNode(text, value ?? child),
    }
  })
  const value = isArray
    ? children.map((child) => child.node.value)
    : Object.fromEntries(children.map((child) => [child.key, child.node.value]))
  const last = children.at(-1)
  const afterComma = last === undefined ? undefined : commaAfter(text, last.node.end)
  return { ...place, value, children, isArray, ...(afterComma === undefined ? {} : { afterComma }) }
}

/** Behind the comma that comes next, if a comma does. */
function commaAfter(text: string, from: number): number | undefined {
  const scanner = createScanner(text, true)
  scanner.setPosition(from)
  return scanner.scan() === COMMA ? scanner.getPosition() : undefined
}

/** `SyntaxKind.CommaToken`, a const enum: it cannot be imported from isolated modules. */
const COMMA = 5

type Path = readonly string[]

/** The value at a path; `undefined` where there is none. */
export function nodeAt(root: JsonNode, path: Path): JsonNode | undefined {
  return path.reduce<JsonNode | undefined>(
    (node, key) => (node?.isArray === false ? node.children?.find((child) => child.key === key)?.node : undefined),
    root,
  )
}

/**
 * Sets a member, and the objects on its path.
 *
 * @throws TypeError where the path leads through something that is no object
 */
export function setMember(text: string, path: Path, value: unknown): string {
  const root = parseJsonc(text)
  for (let depth = path.length; depth >= 0; depth--) {
    const node = nodeAt(root, path.slice(0, depth))
    if (node === undefined) {
      continue
    }
    if (depth === path.length) {
      const isSame = JSON.stringify(node.value) === JSON.stringify(value)
      return isSame ? text : splice(text, node.start, node.end, render(text, value, depth))
    }
    if (node.isArray !== false) {
      throw new TypeError(`'${path.slice(0, depth).join('.')}' is no object`)
    }
    const [key = '', ...rest] = path.slice(depth)
    const inner = rest.reduceRight<unknown>((content, name) => ({ [name]: content }), value)
    return append(text, node, depth, `${JSON.stringify(key)}: ${render(text, inner, depth + 1)}`)
  }
  throw new TypeError('the document is no object')
}

/** Adds an item to the array at a path, in place of one that `isOwn` recognises; makes the array where there is none. */
export function setItem(text: string, path: Path, value: unknown, isOwn: (item: unknown) => boolean): string {
  const node = nodeAt(parseJsonc(text), path)
  if (node === undefined) {
    return setMember(text, path, [value])
  }
  if (node.isArray !== true) {
    throw new TypeError(`'${path.join('.')}' is no array`)
  }
  const own = node.children?.find((child) => isOwn(child.node.value))?.node
  if (own === undefined) {
    return append(text, node, path.length, render(text, value, path.length + 1))
  }
  const isSame = JSON.stringify(own.value) === JSON.stringify(value)
  return isSame ? text : splice(text, own.start, own.end, render(text, value, path.length + 1))
}

/** Removes a member, and the objects on its path that are empty then. */
export function removeMember(text: string, path: Path): string {
  const parent = nodeAt(parseJsonc(text), path.slice(0, -1))
  const index = parent?.children?.findIndex(({ key }) => key === path.at(-1)) ?? -1
  return parent?.isArray === false && index >= 0 ? removeChild(text, parent, index, path.slice(0, -1)) : text
}

/** Removes the items that `isOwn` recognises, and what is empty then. */
export function removeItems(text: string, path: Path, isOwn: (item: unknown) => boolean): string {
  let changed = text
  for (;;) {
    const node = nodeAt(parseJsonc(changed), path)
    const index = node?.isArray === true ? (node.children?.findIndex((child) => isOwn(child.node.value)) ?? -1) : -1
    if (node === undefined || index < 0) {
      return changed
    }
    changed = removeChild(changed, node, index, path)
  }
}

function removeChild(text: string, parent: JsonNode, index: number, path: Path): string {
  const { children = [] } = parent
  if (children.length === 1 && path.length > 0) {
    return removeMember(text, path)
  }
  const child = children[index]
  const next = children[index + 1]
  const before = children[index - 1]
  if (child === undefined) {
    return text
  }
  if (next !== undefined) {
    return splice(text, child.start, next.start, '')
  }
  return splice(text, before?.node.end ?? parent.start + 1, parent.afterComma ?? child.node.end, '')
}

function append(text: string, parent: JsonNode, depth: number, rendered: string): string {
  const unit = indentOf(text)
  const line = `\n${unit.repeat(depth + 1)}${rendered}`
  const last = parent.children?.at(-1)
  if (last === undefined) {
    const end = parent.end - 1
    const content = text.slice(parent.start + 1, end).trimEnd()
    return splice(text, parent.start + 1, end, `${content}${line}\n${unit.repeat(depth)}`)
  }
  return parent.afterComma === undefined
    ? splice(text, last.node.end, last.node.end, `,${line}`)
    : splice(text, parent.afterComma, parent.afterComma, line)
}

const indentOf = (text: string): string => /\n([ \t]+)\S/.exec(text)?.[1] ?? '  '

function render(text: string, value: unknown, depth: number): string {
  const unit = indentOf(text)
  return JSON.stringify(value, undefined, unit).replace(/\n/g, `\n${unit.repeat(depth)}`)
}

const splice = (text: string, from: number, to: number, inner: string): string =>
  `${text.slice(0, from)}${inner}${text.slice(to)}`
