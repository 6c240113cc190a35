/** Checks new entries, changes of entries, and paths of entries that callers pass. */

import { sep } from 'node:path'
import { checkEach, checkFilled, checkObject, checkString, checkTags, optional } from '../arguments/checks.ts'
import { contextError, invalidArgument } from '../arguments/errors.ts'
import type { Redactor } from '../redaction/redactor.ts'
import { storeEntryChange } from './option-names.ts'
import type { ContextType, NewStoreEntry, StoreEntryChange } from './types.ts'

/** Every type, in the order of specification 4. */
export const CONTEXT_TYPES: readonly ContextType[] = ['finding', 'decision', 'artifact', 'reference', 'summary']

/** Limits of a store's entries. */
export interface EntryBounds {
  /** The largest content in bytes. A longer one is refused here, before it is copied to the native side. */
  maxBytes: number
  /** The beginning of the absolute paths of the store's entries. */
  prefix: string
}

/** A new entry as the native side takes it, as JSON. */
export interface CheckedNewEntry {
  type: ContextType
  slug: string
  content: string
  tags: readonly string[]
  links: readonly string[]
}

/** Changes of an entry as the native side takes them, as JSON. */
export interface CheckedChange {
  content?: string | undefined
  type?: ContextType | undefined
  tags?: readonly string[] | undefined
  addTags?: readonly string[] | undefined
  removeTags?: readonly string[] | undefined
  links?: readonly string[] | undefined
  removeLinks?: readonly string[] | undefined
}

/**
 * Checks and completes a new entry.
 *
 * @param name the parameter, for messages
 * @param bounds of the content and the links
 */
export function checkNewEntry(entry: NewStoreEntry, name: string, bounds: EntryBounds): CheckedNewEntry {
  const { type, slug, content, tags, links } = checkObject(entry, name)
  return {
    type: checkType(type, `${name}.type`),
    slug: checkString(slug, `${name}.slug`),
    content: checkContent(content, `${name}.content`, bounds),
    tags: optional(tags, `${name}.tags`, checkTags) ?? [],
    links: optional(links, `${name}.links`, (value, name) => checkLinks(value, name, bounds)) ?? [],
  }
}

/**
 * Checks a change; `name` and `bounds` as for `checkNewEntry`.
 *
 * @param redactor redacts tags and links to be removed, because they are stored redacted
 */
export function checkChange(
  change: StoreEntryChange,
  name: string,
  bounds: EntryBounds,
  redactor: Redactor | undefined,
): CheckedChange {
  const both = (texts: readonly string[]): readonly string[] =>
    redactor === undefined ? texts : [...texts, ...texts.map((text) => redactor.asStored(text))]
  const { content, type, tags, addTags, removeTags, links, removeLinks } = storeEntryChange(change, name)
  return {
    content: optional(content, `${name}.content`, (value, name) => checkContent(value, name, bounds)),
    type: optional(type, `${name}.type`, checkType),
    tags: optional(tags, `${name}.tags`, checkTags),
    addTags: optional(addTags, `${name}.addTags`, checkTags),
    removeTags: optional(removeTags, `${name}.removeTags`, (value, name) => both(checkTags(value, name))),
    links: optional(links, `${name}.links`, (value, name) => checkLinks(value, name, bounds)),
    removeLinks: optional(removeLinks, `${name}.removeLinks`, (value, name) => both(checkLinks(value, name, bounds))),
  }
}

export function checkType(value: ContextType, name: string): ContextType {
  if (!CONTEXT_TYPES.includes(value)) {
    throw invalidArgument(name, `one of ${CONTEXT_TYPES.map((type) => `'${type}'`).join(', ')}`, value)
  }
  return value
}

/**
 * Converts the relative or absolute path of an entry to a relative one. The native side checks its form. Lone surrogates are
 * refused: replacing them might give the path of another entry.
 *
 * @param prefix what the beginning of the absolute paths of the store's entries
 */
export function checkEntryPath(value: string, name: string, prefix: string): string {
  if (typeof value !== 'string' || value === '' || !value.isWellFormed()) {
    throw invalidArgument(name, 'the path of an entry, such as "code-reviewer/20260221T143022-auth.md"', value)
  }
  return value.startsWith(prefix) ? value.slice(prefix.length).replaceAll(sep, '/') : value
}

/** Checks a text about a change, which becomes one line of the changelog. */
export function checkSaying(value: string, name: string): string {
  const text = checkFilled(value, name)
  if (text.trim() === '') {
    throw invalidArgument(name, 'a non-empty string', value)
  }
  return text
}

function checkLinks(links: readonly string[], name: string, { prefix }: EntryBounds): readonly string[] {
  return checkEach(links, name, (value, name) => checkEntryPath(value, name, prefix))
}

function checkContent(value: string, name: string, { maxBytes }: EntryBounds): string {
  const content = checkString(value, name)
  if (content.length > maxBytes) {
    throw contextError(
      'ERR_CONTEXT_TOO_LARGE',
      `${name} takes more than ${maxBytes} bytes; raise maxEntryBytes or store less of it`,
    )
  }
  return content
}
