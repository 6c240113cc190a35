/** Tables for people, on the terminal and in Markdown, and the figures behind them for programs. */

import process from 'node:process'

export interface Table {
  readonly title: string
  readonly columns: readonly string[]
  readonly rows: readonly (readonly string[])[]
}

/** Named figures of one contender in one case. */
export interface Measurement {
  readonly section: string
  readonly case: string
  readonly contender: string
  readonly values: Readonly<Record<string, number>>
}

export class Report {
  readonly measurements: Measurement[] = []
  readonly #markdown: string[] = []

  heading(text: string): void {
    process.stdout.write(`\n=== ${text} ===\n`)
    this.#markdown.push(`\n## ${text}\n`)
  }

  lines(lines: readonly string[]): void {
    process.stdout.write(`${lines.join('\n')}\n`)
    this.#markdown.push(lines.map((line) => `- ${line}`).join('\n'))
  }

  table({ title, columns, rows }: Table): void {
    const widths = columns.map((column, index) =>
      Math.max(...[column, ...rows.map((row) => row[index] ?? '')].map(width)),
    )
    const aligned = (cells: readonly string[]): string =>
      cells.map((cell, index) => pad(cell, widths[index] ?? 0, index === 0)).join('  ')
    const rule = widths.map((length) => '-'.repeat(length)).join('  ')
    process.stdout.write(`\n${[title, aligned(columns), rule, ...rows.map(aligned)].join('\n')}\n`)
    const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`
    const alignment = line(columns.map((_, index) => (index === 0 ? '---' : '--:')))
    this.#markdown.push(`\n**${title}**\n\n${[line(columns), alignment, ...rows.map(line)].join('\n')}`)
  }

  measure(measurement: Measurement): void {
    this.measurements.push(measurement)
  }

  find(section: string, name: string, contender: string): Measurement['values'] | undefined {
    return this.measurements.find((one) => one.section === section && one.case === name && one.contender === contender)
      ?.values
  }

  toMarkdown(): string {
    return `${this.#markdown.join('\n')}\n`
  }
}

function width(text: string): number {
  return [...text].length
}

function pad(text: string, length: number, isLeft: boolean): string {
  const filling = ' '.repeat(Math.max(0, length - width(text)))
  return isLeft ? text + filling : filling + text
}

/** Three significant digits. */
export function figure(value: number): string {
  if (!Number.isFinite(value)) {
    return '–'
  }
  if (Math.abs(value) >= 100) {
    return Math.round(value).toLocaleString('en').replaceAll(',', ' ')
  }
  return value.toFixed(Math.abs(value) >= 10 ? 1 : 2)
}

/** Peer ÷ ours: over 1 we win. */
export function ratio(peer: number, ours: number): string {
  const quotient = peer / ours
  if (!Number.isFinite(quotient)) {
    return '–'
  }
  return `×${quotient >= 10 ? quotient.toFixed(0) : quotient.toFixed(2)}`
}
