/** What the example prints, and how it measures. */

import { styleText } from 'node:util'
import type { ContextPointer, ContextStats } from '../../dist/index.js'

/** Colours are for people at a terminal: the output lands in files and pipes as well. */
const isColored = process.stdout.isTTY === true && !process.env['NO_COLOR']

type Style = Parameters<typeof styleText>[0]

function styled(style: Style, text: string): string {
  return isColored ? styleText(style, text) : text
}

export function heading(text: string): void {
  console.log(`\n${styled('bold', text)}`)
}

export function line(label: string, value: string, remark = ''): void {
  console.log(`  ${label.padEnd(22)}${value.padStart(12)}  ${styled('dim', remark)}`.trimEnd())
}

export function note(text: string): void {
  console.log(`  ${text}`)
}

export function faint(text: string): void {
  console.log(`  ${styled('dim', text)}`)
}

export function bytes(count: number): string {
  if (count < 1024) {
    return `${count} B`
  }
  return count < 1024 ** 2 ? `${(count / 1024).toFixed(1)} KB` : `${(count / 1024 ** 2).toFixed(1)} MB`
}

export function ms(duration: number): string {
  return `${duration.toFixed(duration < 10 ? 2 : 0)} ms`
}

/** A call in one line. Descriptions are cut at 50 characters, which is short for a path. */
export function callText({ toolName, args }: { toolName: string; args: Record<string, unknown> }): string {
  const texts = Object.entries(args).map(([name, value]) => ` ${name}=${String(value)}`)
  return oneLine(toolName + texts.join(''))
}

export function oneLine(text: string): string {
  const line = text.replace(/\s+/g, ' ')
  return line.length > 110 ? `${line.slice(0, 109)}…` : line
}

/** One row per tool with its outputs, computed from the pointers without loading contexts. */
export function printOutputs(pointers: readonly ContextPointer[]): void {
  const row = (name: string, ...cells: string[]) =>
    `${name.padEnd(14)}${cells.map((cell) => cell.padStart(11)).join('')}`
  const rowOf = (name: string, of: readonly ContextPointer[]) => {
    const sizes = of.map(({ sizeBytes }) => sizeBytes)
    const total = sizes.reduce((sum, size) => sum + size, 0)
    const failed = of.filter(({ success }) => success === false).length
    return row(name, `${of.length}`, `${failed}`, bytes(Math.min(...sizes)), bytes(Math.max(...sizes)), bytes(total))
  }
  faint(row('tool', 'outputs', 'failed', 'smallest', 'largest', 'total'))
  for (const name of new Set(pointers.map(({ toolName }) => toolName))) {
    const ofTool = pointers.filter(({ toolName }) => toolName === name)
    note(rowOf(name, ofTool))
  }
  note(styled('bold', rowOf('all', pointers)))
}

export function printTiers(stats: ContextStats): void {
  line('outputs on disk', `${stats.diskContexts}`, bytes(stats.diskBytes))
  line(
    'in memory as well',
    `${stats.memoryContexts}`,
    `${bytes(stats.memoryBytes)}: the small ones, loaded without touching the disk`,
  )
  line('kept out of memory', bytes(Math.max(0, stats.diskBytes - stats.memoryBytes)), 'of these only a pointer stays')
}

export interface Blocked {
  total: number
  longest: number
}

const TICK_MS = 2
/** Timers are late by up to a millisecond on an idle loop, too. */
export const NOISE_MS = 1

/**
 * Sums up how late a short timer fires: whatever holds the event loop makes it late, the agent's own work, the garbage
 * collector and other processes of the machine included.
 */
export function watchEventLoop(): { stop(): Blocked } {
  const blocked: Blocked = { total: 0, longest: 0 }
  let last = performance.now()
  const timer = setInterval(look, TICK_MS)

  function look(): void {
    const now = performance.now()
    const late = now - last - TICK_MS
    if (late > NOISE_MS) {
      blocked.total += late
      blocked.longest = Math.max(blocked.longest, late)
    }
    last = now
  }

  return {
    stop() {
      look()
      clearInterval(timer)
      return blocked
    },
  }
}

/** A function that does the same, and sums up the time spent inside its calls. */
export function timed<Args extends unknown[], Result>(
  run: (...args: Args) => Result,
): { run: (...args: Args) => Result; spent: Blocked & { calls: number } } {
  const spent = { calls: 0, total: 0, longest: 0 }
  return {
    spent,
    run(...args) {
      const start = performance.now()
      try {
        return run(...args)
      } finally {
        const duration = performance.now() - start
        spent.calls++
        spent.total += duration
        spent.longest = Math.max(spent.longest, duration)
      }
    },
  }
}
