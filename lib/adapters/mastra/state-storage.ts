/** `StateStorage`: a storage of Mastra over `StateStore`. */

import * as mastra from '@mastra/core/storage'
import type { StateStore } from '../../index.ts'
import { unsupportedFramework } from '../call-recorder.ts'
import { checkState } from '../state-items.ts'
import { StateMemory } from './state-memory.ts'
import { StateWorkflows } from './state-workflows.ts'

/**
 * Stores Mastra's threads, messages, resources (working memory) and workflow snapshots: `new Mastra({ storage: new
 * StateStorage(state) })`, `new Memory({ storage: new StateStorage(state) })`. Any number of processes of one machine may share
 * the store's file. Other domains of Mastra (traces, scores, …) need another storage: `new MastraCompositeStore({ id, default:
 * other, domains: new StateStorage(state).stores })`.
 *
 * Stored data is read back unchanged: a `StateStore` does not redact by default.
 */
export class StateStorage extends mastra.MastraCompositeStore {
  override readonly stores: { memory: mastra.MemoryStorage; workflows: mastra.WorkflowsStorage }

  constructor(state: StateStore) {
    super({ id: 'agent-context', name: 'StateStorage' })
    if (typeof mastra.matchesExpectedWorkflowStatus !== 'function') {
      throw unsupportedFramework('mastra', '@mastra/core ^1.71.0', 'the installed one does not compare workflow states')
    }
    checkState(state)
    this.stores = { memory: new StateMemory(state), workflows: new StateWorkflows(state) }
  }
}
