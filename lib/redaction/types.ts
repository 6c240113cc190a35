/** Public types of redaction. */

/** A custom rule: a regular expression, or texts that are secret wherever they occur. */
export type RedactionPattern =
  | {
      /** The rule's name in replacements and reports: 1 to 64 letters, digits, `-`, `_` and `.`. */
      name: string
      /**
       * The expression. Its whole match is secret, or only its group `(?<secret>…)` if it has one. It is matched in linear time:
       * look-around and back references are refused.
       */
      pattern: string | RegExp
      /** Flags of the expression; they override the flags of a `RegExp`. */
      flags?: string | null | undefined
    }
  | {
      name: string
      /** Texts that are secret wherever they occur. */
      literals: readonly string[]
    }

/**
 * Options of redaction. An options object is read once, when it is first used: pass the same object again to avoid compiling the
 * rules twice.
 */
export interface RedactionOptions {
  /** Custom rules, in addition to the built-in ones. */
  patterns?: readonly RedactionPattern[] | null | undefined
  /** Texts that are never redacted: a finding is kept if it equals one of these strings or matches one of these expressions. */
  allow?: readonly (string | RegExp)[] | null | undefined
  /** Names of built-in rules to disable. */
  disable?: readonly string[] | null | undefined
  /** Additional names (of object keys, variables, headers and the like) whose values are secret. */
  keys?: readonly string[] | null | undefined
  /**
   * Whether values of environment variables with secret-looking names (such as `API_KEY`) are redacted wherever they occur. The
   * variables of this process are read at each call, at most once per run of synchronous code.
   * @default true
   */
  environment?: boolean | null | undefined
  /**
   * The replacement of a secret: `'label'` is `[REDACTED:<rule>]`; `'mask'` is one `*` for each UTF-16 code unit of the secret
   * (line breaks are kept).
   * @default 'label'
   */
  replacement?: 'label' | 'mask' | null | undefined
  /**
   * Called with the findings for a stored record, before the promise of the call settles. Not called by `redact` and
   * `redactValue`, which return the findings. Errors that it throws are ignored.
   */
  onRedaction?: ((report: RedactionReport) => void) | null | undefined
}

/** The number of secrets that one rule found. */
export interface RedactionFinding {
  /** The rule's name, as in the replacement. */
  rule: string
  count: number
}

/** A report of what was redacted in a stored record. It contains no secret. */
export interface RedactionReport {
  /**
   * The kind of record: a `context` of a manager, an `entry` of a history, a `storeEntry` of a context store, a `memoryRecord`
   * (convention, decision or note) or `memorySummary` of a repository memory, or the value of an item of a `state` store.
   */
  kind: 'context' | 'entry' | 'storeEntry' | 'memoryRecord' | 'memorySummary' | 'state'
  /** The stored name of the tool; only for a `context` and an `entry`. */
  toolName?: string
  /** The agent that wrote or changed the `storeEntry`. */
  agent?: string
  /** The path of the context, or of the file of the history, the store entry, the memory or the state store. */
  filepath: string
  /** The id of the entry, or of the `memoryRecord`. */
  entryId?: string
  /** The key of the item of a `state` store. */
  key?: string
  /** The findings by rule, in the order of their first occurrence; never empty. */
  findings: RedactionFinding[]
}

/** The result of `redact`. */
export interface RedactedText {
  /** The redacted text; the given text if it contains no secret. */
  text: string
  /** The findings by rule; empty if the input contains no secret. */
  findings: RedactionFinding[]
}

/** The result of `redactValue`. */
export interface RedactedValue<T = unknown> {
  /** The redacted copy of the value, as it would be after storing and loading it. */
  value: T
  /** The findings by rule; empty if the input contains no secret. */
  findings: RedactionFinding[]
}

/** The result of `redactStream`: the redacted stream, which can be read once. */
export interface RedactedStream<T extends string | Uint8Array> extends AsyncIterableIterator<T> {
  /** The findings by rule. Empty until the stream has been read to its end. */
  readonly findings: readonly RedactionFinding[]
}
