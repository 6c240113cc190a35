/** Texts that are cut to a length. A secret that is cut is not recognised any more: texts are redacted before. */

import { type Redacting, redactText } from '../redaction/redaction.ts'
import type { RedactionFinding } from '../redaction/types.ts'

/** What stands at the end of a text that was cut. */
const MARK = ' […]'
const MARK_BYTES = 6
/** So much beyond the limit is redacted with what stays: a secret that crosses the limit is whole there. */
const MARGIN = 8192
/** So far back white space is looked for to cut at. */
const BACK = 200

/** A length in bytes of UTF-8 or in UTF-16 code units, never less than the latter. */
export interface TextLimit {
  readonly most: number
  readonly unit: 'bytes' | 'characters'
}

/** So much of a text has to be there for it to be cut as a longer one would be. */
export function enoughFor({ most }: TextLimit): number {
  return most + MARGIN
}

/** A text that keeps to a limit, and what was redacted in it because it was cut. */
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

/** The beginning of a text, and a mark. Cut at white space where there is some near. */
function beginning(text: string, limit: TextLimit): string {
  const kept = text.slice(0, lengthWithin(text, { ...limit, most: limit.most - MARK_BYTES }))
  const last = kept.slice(-BACK).search(/\s\S*$/)
  const end = last < 0 ? kept.length : Math.max(kept.length - BACK, 0) + last
  return kept.slice(0, end).trimEnd() + MARK
}

/** How many code units of a text keep to a limit without cutting a character. */
function lengthWithin(text: string, { most, unit }: TextLimit): number {
  if (unit === 'bytes') {
    return new TextEncoder().encodeInto(text, new Uint8Array(most)).read
  }
  const isBetweenHalves = text.length > most && /[\ud800-\udbff]/.test(text.charAt(most - 1))
  return Math.min(text.length, isBetweenHalves ? most - 1 : most)
}
