/** Cuts texts to a length. Texts are redacted first, because a secret that is cut is no longer recognised. */

import { type Redacting, redactText } from '../redaction/redaction.ts'
import type { RedactionFinding } from '../redaction/types.ts'

/** The suffix of a text that was cut. */
const MARK = ' […]'
const MARK_BYTES = 6
/** The number of characters beyond the limit that are redacted together with the kept text, so that a secret across the limit is recognised. */
const MARGIN = 8192
/** How far before the limit white space is searched for, as a place to cut. */
const BACK = 200

/** A length limit in bytes of UTF-8 or in UTF-16 code units. */
export interface TextLimit {
  readonly most: number
  readonly unit: 'bytes' | 'characters'
}

/** The length of the beginning of a text that gives the same result as the whole text. */
export function enoughFor({ most }: TextLimit): number {
  return most + MARGIN
}

/** Cuts a text to a limit. Returns it with the findings of the redaction before the cut. */
export function cutText(
  text: string,
  limit: TextLimit,
  redacting: Redacting | undefined,
): { text: string; findings: readonly RedactionFinding[] } {
  const head = text.slice(0, enoughFor(limit)).toWellFormed()
  if (head.length === text.length && fits(head, limit)) {
    return { text: head, findings: [] }
  }
  const { text: clean, findings } =
    redacting === undefined ? { text: head, findings: [] } : redactText(redacting.redactor, head)
  return { text: beginning(clean, limit), findings }
}

function fits(text: string, limit: TextLimit): boolean {
  return lengthWithin(text, limit) === text.length
}

/** The beginning of a text with the suffix of a cut text. Cuts at white space if there is some near the limit. */
function beginning(text: string, limit: TextLimit): string {
  const kept = text.slice(0, lengthWithin(text, { ...limit, most: limit.most - MARK_BYTES }))
  const last = kept.slice(-BACK).search(/\s\S*$/)
  const end = last < 0 ? kept.length : Math.max(kept.length - BACK, 0) + last
  return kept.slice(0, end).trimEnd() + MARK
}

/** The largest number of code units of a text within a limit that does not split a character. */
function lengthWithin(text: string, { most, unit }: TextLimit): number {
  if (unit === 'bytes') {
    return new TextEncoder().encodeInto(text, new Uint8Array(most)).read
  }
  const isBetweenHalves = text.length > most && /[\ud800-\udbff]/.test(text.charAt(most - 1))
  return Math.min(text.length, isBetweenHalves ? most - 1 : most)
}
