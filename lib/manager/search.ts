/** Searching the texts of stored outputs. */

import type { NativeManager } from '#addon'
import { checkBoolean, checkText, checkWhole, optional, readSignal, wholeUpTo } from '../arguments/checks.ts'
import { invalidArgument } from '../arguments/errors.ts'
import type { TaskId } from '../arguments/types.ts'
import type { Embeddings } from '../embedding/embeddings.ts'
import { checkEmbedder } from '../embedding/options.ts'
import { cancellable, type Hooks } from '../native/border.ts'
import { checkContextFilter, checkSessionScope, sessionTokens } from './filter.ts'
import { searchOptions } from './option-names.ts'
import type { SearchHit, SearchOptions } from './retrieval-types.ts'

const DEFAULT_LIMIT = 20
const DEFAULT_SNIPPETS = 3
const MAXIMUM_SNIPPETS = 100
const DEFAULT_SNIPPET_LENGTH = 200
const MINIMUM_SNIPPET_LENGTH = 20
const MAXIMUM_SNIPPET_LENGTH = 10_000

export async function search<Task extends TaskId>(
  hooks: Hooks,
  native: NativeManager,
  query: string,
  options: SearchOptions | null | undefined,
  ownSession: string,
  embeddings: Embeddings,
): Promise<SearchHit<Task>[]> {
  checkText(query, 'query')
  const given = optional(options, 'options', searchOptions) ?? {}
  const scope = given.sessions ?? 'own'
  const sessions = checkSessionScope(scope, 'options.sessions', ownSession)
  const embedder = checkEmbedder(given, 'options.')
  if (scope !== 'own' && embedder !== undefined) {
    throw invalidArgument('options.embed', 'absent beside sessions', given.embed)
  }
  const signal = readSignal(given)
  const request = JSON.stringify({
    query: query.toWellFormed(),
    allSessions: scope !== 'own',
    limit: optional(given.limit, 'options.limit', checkWhole) ?? DEFAULT_LIMIT,
    snippets: optional(given.snippets, 'options.snippets', wholeUpTo(MAXIMUM_SNIPPETS)) ?? DEFAULT_SNIPPETS,
    snippetLength: optional(given.snippetLength, 'options.snippetLength', checkSnippetLength) ?? DEFAULT_SNIPPET_LENGTH,
    explain: optional(given.explain, 'options.explain', checkBoolean) ?? false,
    filter: {
      ...checkContextFilter(given, 'options'),
      sessions: scope === 'own' ? undefined : sessionTokens(sessions),
    },
  })
  const embedded =
    embedder &&
    (await embeddings.queryOf(embedder, signal, (operation, vectors, limit) =>
      native.textsToSearch(operation, request, vectors, limit),
    ))
  return cancellable(
    hooks,
    native,
    signal,
    (operation) => native.search(operation, request, embedded),
    (_, texts) => texts.flatMap((text) => JSON.parse(text) as SearchHit<Task>[]),
  )
}

function checkSnippetLength(value: number, name: string): number {
  if (!(Number.isInteger(value) && value >= MINIMUM_SNIPPET_LENGTH && value <= MAXIMUM_SNIPPET_LENGTH)) {
    throw invalidArgument(name, `a whole number from ${MINIMUM_SNIPPET_LENGTH} to ${MAXIMUM_SNIPPET_LENGTH}`, value)
  }
  return value
}
