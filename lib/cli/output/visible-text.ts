/** Stored text on a terminal: what would control it, or change the order of its characters, is shown as an escape. */

/**
 * C0 but tab and line feed, DEL, C1, bidirectional marks, invisible characters and separators of lines. A carriage return is
 * shown unless a line feed follows.
 */
const HIDDEN =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  /\r(?!\n)|[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]|[\ud800-\udfff]/gu

/** Characters that JSON leaves as they are and a terminal does not. */
const HIDDEN_IN_JSON =
  /[\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu

const NAMES: Readonly<Record<string, string>> = { '\r': '\\r', '\n': '\\n', '\t': '\\t', '\x1b': '\\e', '\0': '\\0' }

/** A text of several lines. */
export function visible(text: string): string {
  return text.replace(HIDDEN, escaped)
}

/** A text on one line. */
export function visibleLine(text: string): string {
  return visible(text).replace(/[\r\n\t]/g, escaped)
}

function escaped(character: string): string {
  const unit = character.codePointAt(0) ?? 0
  return NAMES[character] ?? (unit < 0x100 ? `\\x${unit.toString(16).padStart(2, '0')}` : `\\u{${unit.toString(16)}}`)
}

/** JSON that holds no character with which a terminal does something else than show it. */
export function safeJson(value: unknown, indentation?: number): string {
  return JSON.stringify(value, undefined, indentation).replace(HIDDEN_IN_JSON, (character) =>
    character
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  )
}
