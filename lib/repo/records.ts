/** Checks conventions, decisions, notes and summaries that callers pass. The native side checks for empty and too long texts. */

import { Buffer } from 'node:buffer'
import { checkEach, checkFilled, checkObject, checkString, checkTags, optional } from '../arguments/checks.ts'
import { contextError, invalidArgument } from '../arguments/errors.ts'
import { appendSummaryOptions } from './option-names.ts'
import type {
  AppendSummaryOptions,
  ConventionInput,
  DecisionInput,
  NoteInput,
  NoteSource,
  RecordKind,
} from './types.ts'

/** The longest text, in bytes of UTF-8. */
export const MAXIMUM_TEXT_BYTES = 64 * 1024
/** The longest name of a run or a step, or tag of a summary, in bytes. */
const MAXIMUM_NAME_BYTES = 300
/** The largest number of tags of a summary. */
export const MAXIMUM_SUMMARY_TAGS = 50

const KINDS: readonly RecordKind[] = ['convention', 'decision', 'note']
const SOURCES: readonly NoteSource[] = ['manual', 'agent', 'tool']

/** A summary in the form for the native side, as JSON. */
export interface CheckedSummary {
  readonly runId: string
  readonly stepId: string
  readonly summary: string
  readonly tags?: readonly string[] | undefined
  readonly operationId?: string | undefined
}

export function checkConvention(input: ConventionInput): object {
  const { id, title, content, tags } = checkObject(input, 'input')
  return {
    kind: 'convention',
    id: optional(id, 'id', checkFilled),
    title: optional(title, 'title', checkRecordText),
    content: optional(content, 'content', checkRecordText),
    tags: optional(tags, 'tags', checkTags),
  }
}

export function checkDecision(input: DecisionInput): object {
  const { id, summary, rationale, impactedPaths } = checkObject(input, 'input')
  return {
    kind: 'decision',
    id: optional(id, 'id', checkFilled),
    summary: optional(summary, 'summary', checkRecordText),
    rationale: optional(rationale, 'rationale', checkRecordText),
    impactedPaths: optional(impactedPaths, 'impactedPaths', (paths, name) => checkEach(paths, name, checkFilled)),
  }
}

export function checkNote(input: NoteInput): object {
  const { id, content, source } = checkObject(input, 'input')
  return {
    kind: 'note',
    id: optional(id, 'id', checkFilled),
    content: optional(content, 'content', checkRecordText),
    source: optional(source, 'source', checkSource),
  }
}

export function checkKind(kind: RecordKind, name: string): RecordKind {
  if (!KINDS.includes(kind)) {
    throw invalidArgument(name, "'convention', 'decision' or 'note'", kind)
  }
  return kind
}

export function checkSummary(
  runId: string,
  stepId: string,
  summaryText: string,
  tags: readonly string[] | null | undefined,
  options: AppendSummaryOptions | null | undefined,
): CheckedSummary {
  const { operationId } = optional(options, 'options', appendSummaryOptions) ?? {}
  return {
    runId: checkName(runId, 'runId'),
    stepId: checkName(stepId, 'stepId'),
    summary: checkRecordText(summaryText, 'summaryText'),
    tags: optional(tags, 'tags', checkSummaryTags),
    operationId: optional(operationId, 'options.operationId', checkName),
  }
}

/** Checks the name of a run or a step. */
export function checkName(value: string, name: string): string {
  const text = checkFilled(value, name)
  if (text.trim() === '' || /[\n\r]/.test(text) || isLonger(text, MAXIMUM_NAME_BYTES)) {
    throw invalidArgument(name, `a non-empty line of at most ${MAXIMUM_NAME_BYTES} bytes`, value)
  }
  return text
}

export function checkSummaryTags(tags: readonly string[], name: string): readonly string[] {
  const checked = [...new Set(checkTags(tags, name))]
  if (checked.length > MAXIMUM_SUMMARY_TAGS || checked.some((tag) => isLonger(tag, MAXIMUM_NAME_BYTES))) {
    const expected = `an array of at most ${MAXIMUM_SUMMARY_TAGS} strings of at most ${MAXIMUM_NAME_BYTES} bytes`
    throw invalidArgument(name, expected, tags)
  }
  return checked
}

/** Whether a text takes more bytes of UTF-8. A text has at least as many bytes as UTF-16 code units. */
export function isLonger(text: string, bytes: number): boolean {
  return text.length > bytes || Buffer.byteLength(text) > bytes
}

/** Checks the text of a record. A text that is certainly too long is refused before it is copied to the native side. */
function checkRecordText(value: string, name: string): string {
  const text = checkString(value, name)
  if (text.length > MAXIMUM_TEXT_BYTES) {
    throw contextError(
      'ERR_CONTEXT_TOO_LARGE',
      `${name} takes more than ${MAXIMUM_TEXT_BYTES} bytes; keep what matters`,
    )
  }
  return text
}

function checkSource(value: NoteSource, name: string): NoteSource {
  if (!SOURCES.includes(value)) {
    throw invalidArgument(name, "'manual', 'agent' or 'tool'", value)
  }
  return value
}
