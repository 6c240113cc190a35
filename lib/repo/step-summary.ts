/** What happened in a step, as short Markdown. */

import { checkEach, checkFilled, checkObject, checkString, optional } from '../arguments/checks.ts'
import { invalidArgument } from '../arguments/errors.ts'
import { readMember } from '../native/stringify.ts'
import { cutText, enoughFor, type TextLimit } from './cut-text.ts'
import { preview } from './preview.ts'
import { MAXIMUM_TEXT_BYTES } from './records.ts'
import type { StepSummary } from './types.ts'

/** The longest text of a summary. */
export const SUMMARY_LIMIT: TextLimit = { most: MAXIMUM_TEXT_BYTES, unit: 'bytes' }
/** How much is shown of a value that is no text. */
export const VALUE_LIMIT: TextLimit = { most: 2000, unit: 'characters' }

/**
 * Sums up a step as short Markdown: what happened, its outputs, what is to be done next. The same for the same step; at most
 * 64 KiB, so that `appendSummary` takes it.
 *
 * @throws `ERR_CONTEXT_INVALID_ARGUMENT`
 * @example
 * ```ts
 * summariseStep({ happened: 'Split the parser.', outputs: ['src/parser.ts'], followUps: ['Document it'] })
 * // Split the parser.
 * //
 * // Outputs:
 * // - src/parser.ts
 * //
 * // Follow-ups:
 * // - Document it
 * ```
 */
export function summariseStep(step: StepSummary): string {
  return cutText(stepText(step), SUMMARY_LIMIT, undefined).text
}

/** As `summariseStep`, before it is cut: no more of it than matters for that. */
export function stepText(step: StepSummary): string {
  const { happened, outputs, followUps } = checkObject(step, 'step')
  const texts = [
    checkFilled(happened, 'step.happened').trim(),
    listText('Outputs:', optional(outputs, 'step.outputs', outputItems) ?? []),
    listText('Follow-ups:', optional(followUps, 'step.followUps', textItems) ?? []),
  ]
  return texts.filter((text) => text !== '').join('\n\n')
}

/** Whether a value is to be taken for a step's summary. */
export function isStepSummary(value: unknown): value is StepSummary {
  return typeof value === 'object' && value !== null && typeof readMember(value, 'happened') === 'string'
}

function outputItems(outputs: NonNullable<StepSummary['outputs']>, name: string): readonly string[] {
  if (Array.isArray(outputs)) {
    return textItems(outputs, name)
  }
  if (typeof outputs !== 'object') {
    throw invalidArgument(name, 'an array of strings, or an object', outputs)
  }
  return Object.keys(outputs).flatMap((key) => {
    const value = readMember(outputs, key)
    return value === undefined ? [] : [`${key}: ${typeof value === 'string' ? value : shown(value)}`]
  })
}

function textItems(items: readonly string[], name: string): readonly string[] {
  return checkEach(items, name, checkString)
}

/** A value that is no text. */
function shown(value: unknown): string {
  return cutText(preview(value, enoughFor(VALUE_LIMIT)), VALUE_LIMIT, undefined).text
}

/** Lists end where nobody reads on. */
function listText(title: string, items: readonly string[]): string {
  let text = ''
  for (const item of items) {
    const lines = item.trim().split(/\r\n|[\n\r\u2028\u2029]/)
    const [first = '', ...rest] = lines.map((line) => line.trimEnd()).filter((line) => line !== '')
    if (first !== '') {
      text += ['\n- ', first, ...rest.map((line) => `\n  ${line}`)].join('')
    }
    if (text.length > enoughFor(SUMMARY_LIMIT)) {
      break
    }
  }
  return text === '' ? '' : title + text
}
