/** Labelled texts with and without secrets, and how well something takes the secrets out of them. */

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'

/** A text that would be stored. */
export interface Case {
  readonly id: string
  readonly text: string
  /** The part that must not survive; empty where there is none. */
  readonly secret: string
  /** 1: it holds a secret. */
  readonly label: 0 | 1
  readonly tier: string
  readonly source: string
  /** The kind of secret, or of text without one. */
  readonly rule?: string
  /** Fragments that must survive. */
  readonly keep: readonly string[]
}

/** What came of the cases of one kind. */
export interface Score {
  readonly cases: number
  /** Of texts with secrets: those that lost them. Of others: those that were altered. Of fragments: those that survived. */
  readonly counted: number
  /** The cases that are not as they should be. */
  readonly failed: readonly string[]
}

export type Redact = (text: string) => string | Promise<string>

const NAME = /\.jsonl(\.gz)?$/
/** Shorter pieces of a secret tell nothing. */
const SHORTEST = 8
export const KEPT = 'fragments kept'

/** The cases of all files of a folder. */
export function readCases(folder: string): Case[] {
  const names = readdirSync(folder).filter((name) => NAME.test(name))
  return names.sort().flatMap((name) => {
    const bytes = readFileSync(join(folder, name))
    const text = (name.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString()
    const lines = text.split('\n').filter((line) => line !== '')
    return lines.map((line) => JSON.parse(line) as Case)
  })
}

/** Whether any window of half of the secret is still there. */
export function leaks(secret: string, output: string): boolean {
  const length = Math.min(secret.length, Math.max(SHORTEST, Math.floor(secret.length / 2)))
  for (let start = 0; start + length <= secret.length; start++) {
    if (output.includes(secret.slice(start, start + length))) {
      return true
    }
  }
  return false
}

/** The end of the name of a group of cases of one rule. */
export const byRule = (rule: string): string => `, rule ${rule}`

/** The groups that a case counts in: its tier, and the cases of its tier from its source and of its rule. */
function groupsOf({ label, tier, source, rule }: Case): string[] {
  const group = label === 1 ? `recall, ${tier}` : `altered, ${tier}`
  const ofRule = rule === undefined ? [] : [`${group}${byRule(rule)}`]
  return [group, ...(label === 1 ? [`${group}: ${source}`] : []), ...ofRule]
}

/** The scores by group, tiers before their sources. */
export async function scoreCases(cases: readonly Case[], redact: Redact): Promise<Map<string, Score>> {
  const scores = new Map<string, { cases: number; counted: number; failed: string[] }>()
  const count = (group: string, one: Case, isCounted: boolean, hasFailed: boolean): void => {
    const score = scores.get(group) ?? { cases: 0, counted: 0, failed: [] }
    score.cases++
    score.counted += isCounted ? 1 : 0
    if (hasFailed) {
      score.failed.push(one.id)
    }
    scores.set(group, score)
  }
  for (const one of cases) {
    const output = await redact(one.text)
    const isRight = one.label === 1 ? !leaks(one.secret, output) : output === one.text
    for (const group of groupsOf(one)) {
      count(group, one, one.label === 1 ? isRight : !isRight, !isRight)
    }
    for (const fragment of one.keep) {
      const isKept = output.includes(fragment)
      count(KEPT, one, isKept, !isKept)
    }
  }
  return new Map([...scores].sort(([one], [other]) => rank(one) - rank(other) || (one < other ? -1 : 1)))
}

/** Recall first, then what was altered, then what was kept. */
function rank(group: string): number {
  return group === KEPT ? 2 : Number(group.startsWith('altered'))
}

/** In percent. */
export function share({ cases, counted }: Score): number {
  return (100 * counted) / cases
}
