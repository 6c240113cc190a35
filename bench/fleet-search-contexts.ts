/** Searches of all sessions of a `ContextManager`, in a database and on disk: `npm run bench:fleet-search-contexts -- FOLDER`. */

import { ContextManager } from '../dist/index.js'
import { compareSearches, DEPTH, type Place, type Searched } from './fleet-search-comparison.ts'
import { callOf } from './retrieval-agent-context.ts'

function open({ directory: contextDir, ...place }: Place): Searched {
  const manager = new ContextManager({ ...place, contextDir, persist: 'all' })
  return {
    async save(callId, row) {
      const { toolName, args, result, queryId } = callOf(row)
      await manager.saveContext(toolName, args, result, null, queryId, { callId })
    },
    async find(query) {
      const hits = await manager.search(query, { sessions: 'all', limit: DEPTH, snippets: 1 })
      return hits.map(({ callId }) => callId ?? '')
    },
    statistics: () => manager.stats().storage,
    close: () => manager.close(),
  }
}

await compareSearches('bench:fleet-search-contexts', open)
