/** `summariseStep`: describes a step of a run as short Markdown. */

import { checkEach, checkFilled, checkObject, checkString, optional } from '../arguments/checks.ts'
import { invalidArgument } from '../arguments/errors.ts'
import { readMember } from '../native/stringify.ts'
import { cutText, enoughFor, type TextLimit } from './cut-text.ts'
import { preview } from './preview.ts'
import { MAXIMUM_TEXT_BYTES } from './records.ts'
import type { StepSummary } from './types.ts'

/** The longest text of a summary. */
export const SUMMARY_LIMIT: TextLimit = { most: MAXIMUM_TEXT_BYTES, unit: 'bytes' }
/** How much of a value is shown that is not a text. */
export const VALUE_LIMIT: TextLimit = { most: 2000, unit: 'characters' }

/**
 * Describes a step as short Markdown: what happened, its outputs, and what remains to be done. Equal steps give equal texts. The
 * text has at most 64 KiB, so that `appendSummary` accepts it.
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

/** The text of `summariseStep` before it is cut; only as much of it as the cut needs. */
export function stepText(step: StepSummary): string {
  const { happened, outputs, followUps } = checkObject(step, 'step')
  const texts = [
    checkFilled(happened, 'step.happened').trim(),
    listText('Outputs:', optional(outputs, 'step.outputs', outputItems) ?? []),
    listText('Follow-ups:', optional(followUps, 'step.followUps', textItems) ?? []),
  ]
  return texts.filter((text) => text !== '').join('\n\n')
}

/** Whether a value has the shape of a `StepSummary`. */
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

/** Renders a value that is not a text. */
function shown(value: unknown): string {
  return cutText(preview(value, enoughFor(VALUE_LIMIT)), VALUE_LIMIT, undefined).text
}

/** Renders a list, up to the length after which the text is cut anyway. */
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
