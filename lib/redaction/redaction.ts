/** Checks the options of redaction, and redacts single texts and values (`redact`, `redactValue`). */

import { NativeRedactor } from '#addon'
import { checkBoolean, checkFilled, checkFunction, checkText, optional } from '../arguments/checks.ts'
import { asContextError, contextError, fromNative, invalidArgument } from '../arguments/errors.ts'
import { stringify } from '../native/stringify.ts'
import { redactionOptions, redactionPattern } from './option-names.ts'
import { Redactor, standardRedactor } from './redactor.ts'
import type {
  RedactedText,
  RedactedValue,
  RedactionFinding,
  RedactionOptions,
  RedactionPattern,
  RedactionReport,
} from './types.ts'

const RULE_NAME = /^[\w.-]{1,64}$/

/** The compiled rules of an object of this package, with its callback. */
export interface Redacting {
  readonly redactor: Redactor
  readonly onRedaction: ((report: RedactionReport) => void) | undefined
}

/** The rules for the native side, as JSON. */
interface CheckedRules {
  patterns: readonly object[]
  allow: readonly (string | object)[]
  disable: readonly string[]
  keys: readonly string[]
  preservesLength: boolean
}

/** Compiled rules by options object, so that each object is read only once. */
const compiled = new WeakMap<RedactionOptions, Redacting>()

/**
 * Checks and compiles the options of redaction. Returns `undefined` if redaction is disabled.
 *
 * @param name the parameter, for messages
 */
export function checkRedaction(
  options: RedactionOptions | boolean | null | undefined,
  name: string,
): Redacting | undefined {
  if (options === false) {
    return undefined
  }
  if (options === undefined || options === null || options === true) {
    return { redactor: standardRedactor(), onRedaction: undefined }
  }
  if (typeof options !== 'object' || Array.isArray(options)) {
    throw invalidArgument(name, 'false or an object', options)
  }
  let redacting = compiled.get(options)
  if (redacting === undefined) {
    redacting = compile(options, name)
    compiled.set(options, redacting)
  }
  return redacting
}

function compile(options: RedactionOptions, name: string): Redacting {
  redactionOptions(options, name)
  const replacement = options.replacement ?? 'label'
  if (replacement !== 'label' && replacement !== 'mask') {
    throw invalidArgument(`${name}.replacement`, "'label' or 'mask'", replacement)
  }
  const rules: CheckedRules = {
    patterns: list(options.patterns, `${name}.patterns`, checkPattern),
    allow: list(options.allow, `${name}.allow`, checkAllowed),
    disable: list(options.disable, `${name}.disable`, checkFilled),
    keys: list(options.keys, `${name}.keys`, checkFilled),
    preservesLength: replacement === 'mask',
  }
  const readsEnvironment = optional(options.environment, `${name}.environment`, checkBoolean) ?? true
  const onRedaction = optional(options.onRedaction, `${name}.onRedaction`, checkFunction)
  return { redactor: new Redactor(compileRules(rules, name), readsEnvironment), onRedaction }
}

function list<T, R>(
  values: readonly T[] | null | undefined,
  name: string,
  check: (value: T, name: string) => R,
): readonly R[] {
  const given = values ?? []
  if (!Array.isArray(given)) {
    throw invalidArgument(name, 'an array', given)
  }
  return Array.from(given as readonly T[], (value, index) => check(value, `${name}[${index}]`))
}

function checkPattern(given: RedactionPattern, name: string): object {
  redactionPattern(given, name)
  if (typeof given.name !== 'string' || !RULE_NAME.test(given.name)) {
    throw invalidArgument(`${name}.name`, "a name of 1 to 64 letters, digits, '-', '_' and '.'", given.name)
  }
  const { pattern, flags, literals } = given as { pattern?: string | RegExp; flags?: string; literals?: string[] }
  if ((literals ?? undefined) === undefined) {
    return { name: given.name, ...expression(pattern, flags, name) }
  }
  if ((pattern ?? undefined) !== undefined) {
    throw invalidArgument(`${name}.pattern`, 'absent beside literals', pattern)
  }
  const texts = list(literals, `${name}.literals`, checkFilled)
  if (texts.length === 0) {
    throw invalidArgument(`${name}.literals`, 'an array of at least one text', literals)
  }
  return { name: given.name, literals: texts }
}

function expression(
  pattern: string | RegExp | undefined,
  flags: string | null | undefined,
  name: string,
): { source: string; flags: string } {
  if (!(pattern instanceof RegExp) && (typeof pattern !== 'string' || pattern === '')) {
    throw invalidArgument(`${name}.pattern`, 'a non-empty string or a RegExp', pattern)
  }
  optional(flags, `${name}.flags`, checkText)
  return typeof pattern === 'string'
    ? { source: pattern.toWellFormed(), flags: flags ?? '' }
    : { source: pattern.source.toWellFormed(), flags: flags ?? pattern.flags }
}

function checkAllowed(value: string | RegExp, name: string): string | object {
  if (value instanceof RegExp) {
    return { source: value.source.toWellFormed(), flags: value.flags }
  }
  if (typeof value !== 'string' || value === '') {
    throw invalidArgument(name, 'a non-empty string or a RegExp', value)
  }
  return value.toWellFormed()
}

function compileRules(rules: CheckedRules, name: string): NativeRedactor {
  const refusal = refusalOf(rules)
  if (typeof refusal !== 'string') {
    return refusal
  }
  // The error of the native side does not say which rule is invalid: each rule is compiled separately to find it.
  const none: CheckedRules = { patterns: [], allow: [], disable: [], keys: [], preservesLength: false }
  const parts: [path: string, part: CheckedRules][] = [
    ...rules.patterns.map((pattern, index): [string, CheckedRules] => [
      `patterns[${index}].${'literals' in pattern ? 'literals' : 'pattern'}`,
      { ...none, patterns: [pattern] },
    ]),
    ...rules.allow.map((allowed, index): [string, CheckedRules] => [`allow[${index}]`, { ...none, allow: [allowed] }]),
    ...rules.disable.map((rule, index): [string, CheckedRules] => [`disable[${index}]`, { ...none, disable: [rule] }]),
    ...rules.keys.map((key, index): [string, CheckedRules] => [`keys[${index}]`, { ...none, keys: [key] }]),
  ]
  for (const [path, part] of parts) {
    const told = refusalOf(part)
    if (typeof told === 'string') {
      throw contextError('ERR_CONTEXT_INVALID_ARGUMENT', `${name}.${path}: ${told}`)
    }
  }
  throw contextError('ERR_CONTEXT_INVALID_ARGUMENT', `${name}: ${refusal}`)
}

/** Compiles rules. Returns the reason as a text if the native side refuses them. */
function refusalOf(rules: CheckedRules): NativeRedactor | string {
  try {
    return new NativeRedactor(JSON.stringify(rules))
  } catch (thrown) {
    return nativeError(thrown).message
  }
}

/** Converts an error of the native side, whose message is JSON. */
function nativeError(thrown: unknown): Error {
  const { message } = thrown as Error
  try {
    return fromNative(message)
  } catch {
    return contextError('ERR_CONTEXT_REDACTION', 'redaction failed; please report it', thrown)
  }
}

/** Calls the caller's `onRedaction` and ignores its errors. */
export function reportRedaction(redacting: Redacting | undefined, report: RedactionReport): void {
  try {
    redacting?.onRedaction?.(report)
  } catch {
    // The record is already stored: an error of the callback must not reject the save.
  }
}

/** Adds up the findings of two parts of a record, by rule. */
export function joinFindings(
  some: readonly RedactionFinding[],
  others: readonly RedactionFinding[],
): RedactionFinding[] {
  const counts = new Map<string, number>()
  for (const { rule, count } of [...some, ...others]) {
    counts.set(rule, (counts.get(rule) ?? 0) + count)
  }
  return Array.from(counts, ([rule, count]) => ({ rule, count }))
}

/** Reports the findings of a saved context to `onRedaction`, and returns the save's answer. */
export function reportSave(redacting: Redacting | undefined, [saved = '', report = '']: readonly string[]): string {
  reportRedaction(redacting, { kind: 'context', ...(JSON.parse(report) as Omit<RedactionReport, 'kind'>) })
  return saved
}

/** Refuses a name that contains a secret, because the name would appear in file names. */
export function refuseSecret(redacting: Redacting | undefined, value: string, name: string): void {
  const findings = redacting === undefined ? [] : redactText(redacting.redactor, value).findings
  const [found] = findings
  if (found !== undefined) {
    throw contextError(
      'ERR_CONTEXT_INVALID_ARGUMENT',
      `${name} must hold no secret, as it shows in file names, and the redaction rule ${found.rule} finds one in it`,
    )
  }
}

/**
 * Removes the secrets from a text, by the same rules by which everything is redacted before it is stored. Synchronous: a text of
 * 1 MB occupies the thread for some milliseconds.
 *
 * @param options `false` returns the text unchanged
 * @throws `ERR_CONTEXT_INVALID_ARGUMENT`; `ERR_CONTEXT_REDACTION` when the text cannot be redacted reliably @example
 * ```ts
 * const { text, findings } = redact(log)
 * // findings: [{ rule: 'github-token', count: 2 }]
 * ```
 */
export function redact(text: string, options?: RedactionOptions | false | null): RedactedText {
  checkText(text, 'text')
  const redacting = checkRedaction(options, 'options')
  return redacting === undefined ? { text, findings: [] } : redactText(redacting.redactor, text)
}

/** Redacts a text and returns it with the findings. */
export function redactText(redactor: Redactor, text: string): RedactedText {
  redactor.refresh()
  // A lone surrogate has no UTF-8 form, but can be passed as JSON.
  const isWhole = text.isWellFormed()
  try {
    const found = isWhole ? redactor.native.text(text) : redactor.native.json(JSON.stringify(text))
    if (found === null) {
      return { text, findings: [] }
    }
    const [redacted, findings] = found
    return {
      text: isWhole ? redacted : (JSON.parse(redacted) as string),
      findings: JSON.parse(findings) as RedactionFinding[],
    }
  } catch (thrown) {
    throw nativeError(thrown)
  }
}

/**
 * Returns a value as it would be after storing and loading it: its JSON without secrets. Values that JSON cannot represent are
 * converted as `saveContext` does. The passed value is not modified. Synchronous, as {@link redact}.
 *
 * @param options `false` removes nothing
 * @throws `ERR_CONTEXT_INVALID_ARGUMENT`; `ERR_CONTEXT_TOO_LARGE` for a value whose JSON is longer than a string can be;
 * `ERR_CONTEXT_REDACTION` when the value cannot be redacted reliably
 */
export function redactValue<T = unknown>(value: unknown, options?: RedactionOptions | false | null): RedactedValue<T> {
  const redacting = checkRedaction(options, 'options')
  let json: string
  try {
    json = stringify(value)
  } catch (error) {
    throw asContextError(error, 'redactValue', 'value')
  }
  if (redacting === undefined) {
    return { value: JSON.parse(json) as T, findings: [] }
  }
  redacting.redactor.refresh()
  try {
    const found = redacting.redactor.native.json(json)
    return found === null
      ? { value: JSON.parse(json) as T, findings: [] }
      : { value: JSON.parse(found[0]) as T, findings: JSON.parse(found[1]) as RedactionFinding[] }
  } catch (thrown) {
    throw nativeError(thrown)
  }
}
