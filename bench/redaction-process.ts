/** A process of its own: `redaction-process.ts load` or `memory KIND MEGABYTES`; prints figures as JSON. */

import { readFileSync, writeFileSync } from 'node:fs'
import { performance } from 'node:perf_hooks'
import process from 'node:process'
import { redact } from '../dist/index.js'
import { RULES_ALONE } from './redaction-contenders.ts'
import { denseTexts, ordinaryTexts } from './redaction-texts.ts'
import { collectGarbage } from './statistics.ts'

/** What the first calls take, in ms. */
export interface LoadTimes {
  /** The first text, which holds nothing that looks like a secret: the rules' automaton is made. */
  readonly automaton: number
  /** The first text with a secret: one rule's expression is compiled. */
  readonly firstSecret: number
  /** The same again. */
  readonly again: number
}

/** Bytes. */
export interface PeakMemory {
  readonly text: number
  readonly redacted: number
  /** Growth of the most memory that the process had at any time. */
  readonly growth: number
}

const MEGABYTE = 2 ** 20
const KIBIBYTE = 1024

function measureLoad(): LoadTimes {
  const token = ['gh', 'p_', 'c7Yw2Kf9Qz4Lm8Xt1Vb6Nr3Hs5Dj0Gp2Ea7U'].join('')
  const time = (text: string): number => {
    const start = performance.now()
    redact(text, null)
    return performance.now() - start
  }
  return { automaton: time('wombats dig at night'), firstSecret: time(`with ${token}`), again: time(`by ${token}`) }
}

function measureMemory(kind: string, megabytes: number): PeakMemory {
  const sample = (kind === 'dense' ? denseTexts(MEGABYTE) : ordinaryTexts(1 / 16)).join('\n')
  const length = megabytes * MEGABYTE
  const text = Buffer.from(sample.repeat(Math.ceil(length / sample.length)).slice(0, length)).toString()
  redact(sample.slice(0, KIBIBYTE), RULES_ALONE)
  collectGarbage()
  // Resets the peak memory counter, on Linux.
  writeFileSync('/proc/self/clear_refs', '5')
  const before = status('VmRSS')
  const { text: redacted } = redact(text, RULES_ALONE)
  const growth = status('VmHWM') - before
  return { text: Buffer.byteLength(text), redacted: Buffer.byteLength(redacted), growth }
}

/** A figure of this process, in bytes. */
function status(name: string): number {
  const found = new RegExp(`^${name}:\\s*(\\d+) kB$`, 'm').exec(readFileSync('/proc/self/status', 'utf8'))
  return Number(found?.[1]) * KIBIBYTE
}

const [task, kind = '', megabytes = '0'] = process.argv.slice(2)
const figures = task === 'load' ? measureLoad() : measureMemory(kind, Number(megabytes))
process.stdout.write(`${JSON.stringify(figures)}\n`)
