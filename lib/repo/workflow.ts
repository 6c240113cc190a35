/** `Workflow`: runs whose steps append summaries to a repository memory. */

import { checkFunction, count, optional } from '../arguments/checks.ts'
import { callWithin } from '../arguments/signals.ts'
import { DEFAULT_SUMMARISE_TIMEOUT } from '../history/compaction.ts'
import { readMember } from '../native/stringify.ts'
import type { Redacting } from '../redaction/redaction.ts'
import type { RedactionFinding } from '../redaction/types.ts'
import { cutText, enoughFor } from './cut-text.ts'
import { workflowStepOptions } from './option-names.ts'
import { preview } from './preview.ts'
import { type CheckedSummary, checkName, checkSummaryTags, MAXIMUM_SUMMARY_TAGS } from './records.ts'
import { isStepSummary, SUMMARY_LIMIT, stepText, VALUE_LIMIT } from './step-summary.ts'
import type { ContextPackOptions, StepSummary, Workflow, WorkflowStep, WorkflowStepOptions } from './types.ts'

const FAILED = 'failed'

/** The methods of the memory that a workflow uses. */
export interface WorkflowMemory {
  readonly redaction: Redacting | undefined
  /** Appends a summary. `findings` are those of an earlier redaction of its text. */
  append(summary: CheckedSummary, findings: readonly RedactionFinding[]): Promise<unknown>
  context(maxChars: number, options?: ContextPackOptions): Promise<string>
  debug(message: string, data: unknown): void
}

/** The summary text of a step. */
type Text = ReturnType<typeof cutText>

export class RepoWorkflow implements Workflow {
  readonly runId: string
  readonly #memory: WorkflowMemory

  constructor(runId: string, memory: WorkflowMemory) {
    this.runId = checkName(runId, 'runId')
    this.#memory = memory
  }

  async step<T>(
    stepId: string,
    run: (step: WorkflowStep) => T | Promise<T>,
    options?: WorkflowStepOptions<T> | null,
  ): Promise<T> {
    const { runId } = this
    const name = checkName(stepId, 'stepId')
    checkFunction(run, 'run')
    const given = optional(options, 'options', workflowStepOptions) ?? {}
    const summarise = optional(given.summarise, 'summarise', checkFunction)
    const timeout = count(given.summariseTimeout, 'summariseTimeout', DEFAULT_SUMMARISE_TIMEOUT)
    const tags = optional(given.tags, 'tags', checkSummaryTags)
    const context: WorkflowStep['context'] = (maxChars, options) => this.#memory.context(maxChars, options)
    let result: T
    try {
      result = await run({ runId, stepId: name, context })
    } catch (error) {
      const all = [...new Set([FAILED, ...(tags ?? [])])].slice(0, MAXIMUM_SUMMARY_TAGS)
      await this.#record(name, all, () => this.#cut(`Step ${name} failed: ${messageOf(error)}`))
      throw error
    }
    await this.#record(name, tags, () => this.#textOf(name, result, summarise, timeout))
    return result
  }

  /** Makes and appends a summary. A failure is reported to `onDebug` and does not fail the step. */
  async #record(stepId: string, tags: readonly string[] | undefined, sumUp: () => Text | Promise<Text>): Promise<void> {
    try {
      const { text, findings } = await sumUp()
      await this.#memory.append({ runId: this.runId, stepId, summary: text, tags }, findings)
    } catch (error) {
      this.#memory.debug('The summary of a step could not be stored', { runId: this.runId, stepId, error })
    }
  }

  async #textOf<T>(
    stepId: string,
    result: T,
    summarise: NonNullable<WorkflowStepOptions<T>['summarise']> | undefined,
    timeout: number,
  ): Promise<Text> {
    if (summarise !== undefined) {
      try {
        const answer: unknown = await callWithin(() => summarise(result), { name: 'summarise', timeout })
        return this.#cut(told(answer) ?? stepText(answer as StepSummary))
      } catch (error) {
        this.#memory.debug('The summary of a step was not made: its result is shown', {
          runId: this.runId,
          stepId,
          error,
        })
      }
    }
    const text = told(result)
    return text === undefined ? this.#shown(stepId, result) : this.#cut(text)
  }

  /** The summary of a step whose return value is neither a text nor a `StepSummary`. */
  #shown(stepId: string, value: unknown): Text {
    if (value === undefined) {
      return this.#cut(`Step ${stepId} returned nothing`)
    }
    const { text, findings } = cutText(preview(value, enoughFor(VALUE_LIMIT)), VALUE_LIMIT, this.#memory.redaction)
    return { text: `Step ${stepId} returned ${text}`, findings }
  }

  #cut(text: string): Text {
    return cutText(text, SUMMARY_LIMIT, this.#memory.redaction)
  }
}

/** The summary text of a value that is a text or a `StepSummary`. */
function told(value: unknown): string | undefined {
  if (typeof value === 'string') {
    return value.trim() === '' ? undefined : value
  }
  if (!isStepSummary(value)) {
    return undefined
  }
  try {
    return stepText(value)
  } catch {
    return undefined
  }
}

/** The message of a thrown value. */
function messageOf(thrown: unknown): string {
  if (typeof thrown === 'object' && thrown !== null) {
    const message = readMember(thrown, 'message')
    return typeof message === 'string' && message !== '' ? message : preview(thrown, VALUE_LIMIT.most)
  }
  return typeof thrown === 'string' ? thrown : String(thrown)
}
