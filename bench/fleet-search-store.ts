/** Ranked searches of a `ContextStore`, in a database and on disk: `npm run bench:fleet-search-store -- FOLDER`. */

import { ContextStore } from '../dist/index.js'
import { compareSearches, DEPTH, type Place, type Searched } from './fleet-search-comparison.ts'
import { callOf } from './retrieval-agent-context.ts'

/** The names of the rows that were stored in a directory or namespace, by the paths of their entries. */
const namesIn = new Map<string, Map<string, string>>()

function open({ directory: path, ...place }: Place): Searched {
  const store = new ContextStore({ ...place, path, agent: 'bench' })
  const names = namesIn.get(path) ?? new Map<string, string>()
  namesIn.set(path, names)
  return {
    async save(name, row) {
      const { toolName, args, description, result = { toolName, args, description } } = callOf(row)
      const content = typeof result === 'string' ? result : JSON.stringify(result)
      const entry = await store.write({ type: 'finding', slug: 'row', content })
      names.set(entry.path, name)
    },
    async find(query) {
      const hits = await store.search({ query, ranked: true, limit: DEPTH })
      return hits.map((entry) => names.get(entry.path) ?? '')
    },
    statistics: () => store.stats().storage,
    close: () => store.close(),
  }
}

await compareSearches('bench:fleet-search-store', open)
