/** Rows of cells: aligned and cut to the width of a terminal, separated by tabs elsewhere. */

import type { Style } from './style.ts'
import { visibleLine } from './visible-text.ts'

export interface Column<Item> {
  readonly title: string
  cell(item: Item): string
  readonly align?: 'right'
  /** Takes the room that is left, and is cut first. */
  readonly isFlexible?: boolean
  style?(text: string, item: Item, style: Style): string
}

const GAP = '  '
const LEAST_FLEXIBLE = 12

/** Tab-separated, whole, without a header: for other programs. */
export function plainRow<Item>(columns: readonly Column<Item>[], item: Item): string {
  return columns.map((column) => visibleLine(column.cell(item))).join('\t')
}

/** With a header, for people. */
export function alignedRows<Item>(
  columns: readonly Column<Item>[],
  items: readonly Item[],
  width: number,
  style: Style,
): string[] {
  const cells = items.map((item) => columns.map((column) => visibleLine(column.cell(item))))
  const widths = columns.map((column, index) =>
    cells.reduce((most, row) => Math.max(most, displayWidth(row[index] ?? '')), column.title.length),
  )
  const used = widths.reduce((sum, part) => sum + part, GAP.length * (columns.length - 1))
  columns.forEach((column, index) => {
    if (column.isFlexible === true) {
      widths[index] = Math.max(LEAST_FLEXIBLE, (widths[index] ?? 0) - Math.max(0, used - width))
    }
  })
  const line = (texts: readonly string[], paint: (text: string, index: number) => string): string =>
    columns
      .map((column, index) => {
        const room = widths[index] ?? 0
        const text = cut(texts[index] ?? '', room)
        const padding = ' '.repeat(Math.max(0, room - displayWidth(text)))
        const painted = paint(text, index)
        return column.align === 'right' ? padding + painted : painted + padding
      })
      .join(GAP)
      .trimEnd()
  const header = line(
    columns.map(({ title }) => title),
    (text) => style.dim(text),
  )
  return [
    header,
    ...items.map((item, row) =>
      line(cells[row] ?? [], (text, index) => columns[index]?.style?.(text, item, style) ?? text),
    ),
  ]
}

/** A text that takes no more than so many columns, with `…` where it was cut. */
export function cut(text: string, room: number): string {
  if (displayWidth(text) <= room) {
    return text
  }
  let used = 1
  let shown = ''
  for (const character of text) {
    used += characterWidth(character)
    if (used > room) {
      break
    }
    shown += character
  }
  return `${shown}…`
}

/** Columns that a terminal gives a text: two for East Asian characters and emoji, none for combining marks. */
export function displayWidth(text: string): number {
  let width = 0
  for (const character of text) {
    width += characterWidth(character)
  }
  return width
}

const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}|[\u{20000}-\u{3fffd}]/u

function characterWidth(character: string): number {
  if (character <= '\u02ff') {
    return 1
  }
  return WIDE.test(character) ? 2 : /\p{M}/u.test(character) ? 0 : 1
}
