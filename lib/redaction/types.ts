/** Public types of redaction. */

/** A rule of your own: an expression, or texts that are secret wherever they occur. */
export type RedactionPattern =
  | {
      /** Stands in replacements and reports: 1 to 64 letters, digits, `-`, `_` and `.`. */
      name: string
      /**
       * What is secret: what the expression matches, or only its group `(?<secret>…)` where it has one. It is matched in
       * linear time: look-around and back references are refused.
       */
      pattern: string | RegExp
      /** Flags of the expression, in place of those of a `RegExp`. */
      flags?: string | null | undefined
    }
  | {
      name: string
      /** Texts that are secret wherever they occur. */
      literals: readonly string[]
    }

/**
 * What is redacted, and how. An object of options is read once, when it is first used: pass the same one again and nothing
 * is compiled twice.
 */
export interface RedactionOptions {
  /** Further rules. */
  patterns?: readonly RedactionPattern[] | null | undefined
  /** What is never redacted: exact texts, and expressions that are matched against what was found. */
  allow?: readonly (string | RegExp)[] | null | undefined
  /** Names of built-in rules that are not used. */
  disable?: readonly string[] | null | undefined
  /** Further names of members, variables, headers and so on whose values are secret. */
  keys?: readonly string[] | null | undefined
  /**
   * Whether the values of this process's environment variables whose names look secret are secret wherever they occur.
   * They are read at every call, once per run of synchronous code.
   * @default true
   */
  environment?: boolean | null | undefined
  /**
   * What takes a secret's place: `'label'` is `[REDACTED:<rule>]`, `'mask'` as many `*` as the secret has UTF-16 units
   * (line breaks stay).
   * @default 'label'
   */
  replacement?: 'label' | 'mask' | null | undefined
  /**
   * Told what was redacted in something that was stored, before the promise of the call settles. Not called by `redact`
   * and `redactValue`, which return it. What it throws is swallowed.
   */
  onRedaction?: ((report: RedactionReport) => void) | null | undefined
}

/** How many secrets a rule found. */
export interface RedactionFinding {
  /** The rule's name, which stands in the replacement as well. */
  rule: string
  count: number
}

/** What was redacted in something that was stored. Never a secret. */
export interface RedactionReport {
  /**
   * A `context` of a manager, an `entry` of a history, a `storeEntry` of a context store, or of a repository's memory a
   * `memoryRecord` (a convention, decision or note) or a `memorySummary`; the value of an item of a `state` store.
   */
  kind: 'context' | 'entry' | 'storeEntry' | 'memoryRecord' | 'memorySummary' | 'state'
  /** The tool that the output is of, as it is stored; of a `context` and an `entry` alone. */
  toolName?: string
  /** Who wrote the `storeEntry`, or changed it. */
  agent?: string
  /** The context's path, the history's file, the store entry's file, or that of the memory or the state store. */
  filepath: string
  /** The id of the entry, or of the `memoryRecord`. */
  entryId?: string
  /** The key of the item of a `state` store. */
  key?: string
  /** By rule, in the order of their first finds; never empty. */
  findings: RedactionFinding[]
}

/** What `redact` gives. */
export interface RedactedText {
  /** The text without its secrets; the very text given where it has none. */
  text: string
  /** By rule; empty where nothing was found. */
  findings: RedactionFinding[]
}

/** What `redactValue` gives. */
export interface RedactedValue<T = unknown> {
  /** A new value, as it would be stored and loaded again. */
  value: T
  /** By rule; empty where nothing was found. */
  findings: RedactionFinding[]
}

/** What `redactStream` gives: the stream without its secrets, to be read once. */
export interface RedactedStream<T extends string | Uint8Array> extends AsyncIterableIterator<T> {
  /** By rule. Empty until the stream has been read to its end. */
  readonly findings: readonly RedactionFinding[]
}
