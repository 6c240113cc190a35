/** The options of redaction, and redaction of single texts and values. */

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

/** How a class redacts. */
export interface Redacting {
  readonly redactor: Redactor
  readonly onRedaction: ((report: RedactionReport) => void) | undefined
}

/** What of the options is for the native side, as JSON. */
interface CheckedRules {
  patterns: readonly object[]
  allow: readonly (string | object)[]
  disable: readonly string[]
  keys: readonly string[]
  preservesLength: boolean
}

/** Options objects that were used before. They are read once. */
const compiled = new WeakMap<RedactionOptions, Redacting>()

/**
 * Checks and compiles options; `undefined` when redaction is switched off.
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
  // The native side says what is wrong, and not with which of them.
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

/** Compiled rules, or why there are none. */
function refusalOf(rules: CheckedRules): NativeRedactor | string {
  try {
    return new NativeRedactor(JSON.stringify(rules))
  } catch (thrown) {
    return nativeError(thrown).message
  }
}

/** What the native side throws has JSON as its message. */
function nativeError(thrown: unknown): Error {
  const { message } = thrown as Error
  try {
    return fromNative(message)
  } catch {
    return contextError('ERR_CONTEXT_REDACTION', 'redaction failed; please report it', thrown)
  }
}

/** Tells the caller's callback, whose failures are its own. */
export function reportRedaction(redacting: Redacting | undefined, report: RedactionReport): void {
  try {
    redacting?.onRedaction?.(report)
  } catch {
    // What is stored is stored.
  }
}

/** What was found in two parts of something, by rule. */
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

/** Tells what was taken out of a context, and gives what the save answered with. */
export function reportSave(redacting: Redacting | undefined, [saved = '', report = '']: readonly string[]): string {
  reportRedaction(redacting, { kind: 'context', ...(JSON.parse(report) as Omit<RedactionReport, 'kind'>) })
  return saved
}

/** Refuses a name that holds a secret: it would show in the names of files. */
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
 * Takes the secrets out of a text, with the rules by which everything is redacted before it is stored. Synchronous: a text
 * of 1 MB keeps the thread busy for some milliseconds.
 *
 * @param options `false` gives the text as it is
 * @throws `ERR_CONTEXT_INVALID_ARGUMENT`; `ERR_CONTEXT_REDACTION` when it cannot be told what is secret
 * @example
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

/** A text without its secrets, and what was found. */
export function redactText(redactor: Redactor, text: string): RedactedText {
  redactor.refresh()
  // UTF-8 has no halves of characters, JSON has.
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
 * What a value would become if it were stored and loaded again: JSON without its secrets, where what JSON cannot hold is
 * treated as `saveContext` does. The value itself is never touched. Synchronous, as {@link redact}.
 *
 * @param options `false` takes nothing out
 * @throws `ERR_CONTEXT_INVALID_ARGUMENT`; `ERR_CONTEXT_TOO_LARGE` for what has more JSON than a string can hold;
 * `ERR_CONTEXT_REDACTION` when it cannot be told what is secret
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
