/** Removal of old entries: planned in one step and carried out in batches, so that its progress can be reported and it can be aborted. */

import {
  checkBoolean,
  checkFunction,
  checkObject,
  checkString,
  duration,
  optional,
  readSignal,
} from '../arguments/checks.ts'
import { inspect, invalidArgument } from '../arguments/errors.ts'
import { housekeepingPolicy } from './option-names.ts'
import type { HousekeepingPolicy, HousekeepingReport } from './types.ts'

const DEFAULT_AGE = '30d'
/** Number of entries that are removed under one lock. */
const BATCH = 256

/** The request to the native side, as JSON. Durations are in ms. */
export interface CheckedPolicy {
  now: number
  olderThan: number
  retention: Readonly<Record<string, number>>
  agents?: readonly string[] | undefined
  includeLinked: boolean
}

/** A checked policy, with the options of its execution. */
export interface CheckedHousekeeping {
  policy: CheckedPolicy
  dryRun: boolean
  onProgress: HousekeepingPolicy['onProgress']
  signal: AbortSignal | undefined
}

/** The operations of the native side, each with its request as JSON. */
export interface Housekeeper {
  plan(request: string): Promise<string>
  removeExpired(request: string): Promise<string>
  /** Removes the temporary files of ended processes. */
  removeLeftovers(): Promise<void>
}

interface Plan {
  expired: HousekeepingReport['removed']
  keptLinked: string[]
}

interface Batch {
  removed: string[]
  kept: string[]
  problems: HousekeepingReport['problems']
}

/** Checks a policy. */
export function checkHousekeeping(given: HousekeepingPolicy | null | undefined): CheckedHousekeeping {
  const { olderThan, retention, agents, dryRun, includeLinked, onProgress } =
    optional(given, 'policy', housekeepingPolicy) ?? ({} as HousekeepingPolicy)
  return {
    policy: {
      now: Date.now(),
      olderThan: age(olderThan ?? DEFAULT_AGE, 'olderThan'),
      retention: optional(retention, 'retention', checkRetention) ?? {},
      agents: optional(agents, 'agents', checkAgents),
      includeLinked: optional(includeLinked, 'includeLinked', checkBoolean) ?? false,
    },
    dryRun: optional(dryRun, 'dryRun', checkBoolean) ?? false,
    onProgress: optional(onProgress, 'onProgress', checkFunction),
    signal: readSignal(given),
  }
}

/** Reads a duration. `Infinity` becomes the largest number, because JSON cannot represent it. */
function age(value: string, name: string): number {
  return Math.min(duration(value, name), Number.MAX_SAFE_INTEGER)
}

/** Checks the durations by agent. Agents that declare none get `olderThan`. */
function checkRetention(
  retention: NonNullable<HousekeepingPolicy['retention']>,
  name: string,
): Readonly<Record<string, number>> {
  checkObject(retention, name)
  const ages: [string, number][] = []
  for (const [agent, declared] of Object.entries(retention)) {
    const member = `${name}[${inspect(agent)}]`
    if (typeof declared === 'string') {
      ages.push([agent, age(declared, member)])
      continue
    }
    const ofAgent = optional(checkObject(declared, member).contextRetention, `${member}.contextRetention`, age)
    if (ofAgent !== undefined) {
      ages.push([agent, ofAgent])
    }
  }
  return Object.fromEntries(ages)
}

function checkAgents(agents: readonly string[], name: string): readonly string[] {
  if (!Array.isArray(agents)) {
    throw invalidArgument(name, 'an array of strings', agents)
  }
  return Array.from(agents as readonly string[], (agent, index) => checkString(agent, `${name}[${index}]`))
}

/** Carries out a policy. */
export async function housekeep(
  { policy, dryRun, onProgress, signal }: CheckedHousekeeping,
  housekeeper: Housekeeper,
): Promise<HousekeepingReport> {
  const plan = JSON.parse(await housekeeper.plan(JSON.stringify(policy))) as Plan
  const report: HousekeepingReport = {
    removed: dryRun ? plan.expired : [],
    keptLinked: plan.keptLinked,
    keptChanged: [],
    removedBytes: dryRun ? plan.expired.reduce((total, { bytes }) => total + bytes, 0) : 0,
    dryRun,
    problems: [],
  }
  if (dryRun) {
    return report
  }
  for (let done = 0; done < plan.expired.length; ) {
    signal?.throwIfAborted()
    const batch = plan.expired.slice(done, done + BATCH)
    const paths = batch.map(({ path }) => path)
    const outcome = JSON.parse(await housekeeper.removeExpired(JSON.stringify({ ...policy, paths }))) as Batch
    addBatch(report, batch, outcome)
    done += batch.length
    tellProgress(onProgress, { done, total: plan.expired.length })
  }
  signal?.throwIfAborted()
  await housekeeper.removeLeftovers()
  return report
}

function addBatch(report: HousekeepingReport, batch: Plan['expired'], { removed, kept, problems }: Batch): void {
  const planned = new Map(batch.map((entry) => [entry.path, entry]))
  for (const path of removed) {
    const entry = planned.get(path)
    if (entry !== undefined) {
      report.removed.push(entry)
      report.removedBytes += entry.bytes
    }
  }
  report.keptChanged.push(...kept)
  report.problems.push(...problems)
}

function tellProgress(onProgress: HousekeepingPolicy['onProgress'], progress: { done: number; total: number }): void {
  try {
    onProgress?.(progress)
  } catch {
    // An error of the caller's progress callback must not stop the work.
  }
}
