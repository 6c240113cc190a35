/** Snapshots of Mastra's workflow runs over `StateStore`. */

import * as mastra from '@mastra/core/storage'
import type { JsonValue, StateItem, StateStore, StateView } from '../../index.ts'
import { allItems, deleteAll } from '../state-items.ts'
import { byTime, placeOf } from './place.ts'

/** The stored form of a run: below the name of its workflow, under its id. */
interface SavedRun {
  resourceId?: string | undefined
  snapshot: mastra.WorkflowRunState | string
  createdAt: string
  updatedAt: string
}

type RunKey = { workflowName: string; runId: string }

export class StateWorkflows extends mastra.WorkflowsStorage {
  readonly #state: StateStore

  constructor(state: StateStore) {
    super()
    this.#state = state
  }

  /** Steps that end at the same time are merged: each update is a transaction, across processes. */
  supportsConcurrentUpdates(): boolean {
    return true
  }

  dangerouslyClearAll(): Promise<void> {
    return deleteAll(this.#state, placeOf('workflows'))
  }

  async persistWorkflowSnapshot(run: mastra.PersistedSnapshot): Promise<void> {
    const { workflowName, runId, resourceId, snapshot, createdAt, updatedAt } = run
    const place = placeOf('workflows', workflowName)
    await this.#state.transaction(async (view) => {
      const existing = (await view.get(place, runId))?.value as SavedRun | undefined
      const now = new Date()
      const saved: SavedRun = {
        resourceId: resourceId ?? existing?.resourceId,
        snapshot,
        createdAt: createdAt?.toISOString() ?? existing?.createdAt ?? now.toISOString(),
        updatedAt: (updatedAt ?? now).toISOString(),
      }
      view.put(place, runId, saved as unknown as JsonValue)
    })
  }

  async loadWorkflowSnapshot({ workflowName, runId }: RunKey): Promise<mastra.WorkflowRunState | null> {
    const item = await this.#state.get(placeOf('workflows', workflowName), runId)
    return item === undefined ? null : snapshotOf(item.value as unknown as SavedRun)
  }

  updateWorkflowResults(
    update: RunKey & { stepId: string; result: mastra.WorkflowStepResult; requestContext: Record<string, unknown> },
  ): Promise<Record<string, mastra.WorkflowStepResult>> {
    return this.#state.transaction(async (view) => {
      const { stepId, result, requestContext } = update
      const found = await this.#read(view, update)
      if (found === undefined) {
        return {}
      }
      const { run, snapshot } = found
      const context = mastra.mergeWorkflowStepResult({ snapshot, stepId, result, requestContext })
      this.#write(view, update, { ...run, snapshot })
      return JSON.parse(JSON.stringify(context)) as Record<string, mastra.WorkflowStepResult>
    })
  }

  updateWorkflowState(
    update: RunKey & { opts: mastra.UpdateWorkflowStateOptions },
  ): Promise<mastra.WorkflowRunState | undefined> {
    return this.#state.transaction(async (view) => {
      const { expectedStatus, ...state } = update.opts
      const found = await this.#read(view, update)
      if (found === undefined || !mastra.matchesExpectedWorkflowStatus(found.snapshot.status, expectedStatus)) {
        return undefined
      }
      const snapshot = { ...found.snapshot, ...state }
      this.#write(view, update, { ...found.run, snapshot })
      return snapshot
    })
  }

  async listWorkflowRuns(query: mastra.StorageListWorkflowRunsInput = {}): Promise<mastra.WorkflowRuns> {
    const { workflowName, fromDate, toDate, perPage, page, resourceId, threadId, status } = query
    if (page !== undefined && page < 0) {
      throw new Error('page must be >= 0')
    }
    const runs: mastra.WorkflowRun[] = []
    for await (const item of allItems(this.#state, placeOf('workflows', ...(workflowName ? [workflowName] : [])))) {
      const run = runOf(item)
      const isInTime = (!fromDate || run.createdAt >= fromDate) && (!toDate || run.createdAt <= toDate)
      if (
        isInTime &&
        (!workflowName || run.workflowName === workflowName) &&
        (!resourceId || run.resourceId === resourceId) &&
        (!status || run.snapshot.status === status) &&
        (!threadId || mastra.getSnapshotMemoryInfo(run.snapshot)?.threadId === threadId)
      ) {
        runs.push(run)
      }
    }
    runs.sort((one, other) => byTime(other.createdAt, one.createdAt))
    if (perPage === undefined || page === undefined) {
      return { runs, total: runs.length }
    }
    const size = mastra.normalizePerPage(perPage, Number.MAX_SAFE_INTEGER)
    return { runs: runs.slice(page * size, page * size + size), total: runs.length }
  }

  async getWorkflowRunById(query: { runId: string; workflowName?: string }): Promise<mastra.WorkflowRun | null> {
    const { runId, workflowName } = query
    if (workflowName) {
      const item = await this.#state.get(placeOf('workflows', workflowName), runId)
      return item === undefined ? null : runOf(item)
    }
    const runs: mastra.WorkflowRun[] = []
    for await (const item of allItems(this.#state, placeOf('workflows'), { keyPrefix: runId })) {
      if (item.key === runId) {
        runs.push(runOf(item))
      }
    }
    return runs.sort((one, other) => byTime(other.createdAt, one.createdAt))[0] ?? null
  }

  async deleteWorkflowRunById({ runId, workflowName }: RunKey): Promise<void> {
    await this.#state.delete(placeOf('workflows', workflowName), runId)
  }

  async #read(view: StateView, { workflowName, runId }: RunKey) {
    const run = (await view.get(placeOf('workflows', workflowName), runId))?.value as SavedRun | undefined
    if (run === undefined) {
      return undefined
    }
    const snapshot = run.snapshot ? snapshotOf(run) : mastra.createEmptyWorkflowSnapshot(runId)
    if (!snapshot.context) {
      throw new Error(`the stored snapshot of the run ${runId} has no context`)
    }
    return { run, snapshot }
  }

  #write(view: StateView, { workflowName, runId }: RunKey, run: SavedRun): void {
    view.put(placeOf('workflows', workflowName), runId, run as unknown as JsonValue)
  }
}

function snapshotOf({ snapshot }: SavedRun): mastra.WorkflowRunState {
  return typeof snapshot === 'string' ? (JSON.parse(snapshot) as mastra.WorkflowRunState) : snapshot
}

function runOf({ namespace, key, value }: StateItem): mastra.WorkflowRun & { snapshot: mastra.WorkflowRunState } {
  const run = value as unknown as SavedRun
  return {
    workflowName: namespace.at(-1) ?? '',
    runId: key,
    snapshot: snapshotOf(run),
    createdAt: new Date(run.createdAt),
    updatedAt: new Date(run.updatedAt),
    ...(run.resourceId === undefined ? {} : { resourceId: run.resourceId }),
  }
}
