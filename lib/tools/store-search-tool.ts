/** `context_search`: the tool that finds entries. */

import type { ContextType, StoreEntry, StoreQuery } from '../store/types.ts'
import { defineTool } from './define-tool.ts'
import {
  describeEntry,
  ENTRY_NOTE,
  explainStoreFailure,
  listSchema,
  MAXIMUM_LINE,
  readTexts,
  readType,
  textSchema,
  typeSchema,
} from './store-tool.ts'
import { fit, frame, given, inLine } from './stored-text.ts'
import { execute, failure, readParameters, readText, readWhole } from './tool-parameters.ts'
import type { ToolDefinition, ToolResult } from './types.ts'

const DEFAULT_LIMIT = 10
const MAXIMUM_LIMIT = 50
/** How much of a content is read for its beginning, in UTF-16 code units. */
const BEGINNING = 1000
/** How much of a content's beginning is shown, in bytes. */
const BEGINNING_BYTES = 240

/** The arguments that the model passes to `context_search`. */
export interface ContextSearchParameters {
  /** The words to search for; without them, the latest entries are returned. */
  query?: string
  /** Only entries of this agent. */
  agent?: string
  /** Only entries of this session. */
  session_id?: string
  /** Only entries of this type. */
  type?: ContextType
  /** Only entries with all of these tags. */
  tags?: string[]
  /** Only entries written at this time or later, ISO 8601. */
  since?: string
  /**
   * The largest number of entries.
   * @default 10
   */
  limit?: number
}

/** The methods of a store that `context_search` uses. */
export interface StoreSearchSource {
  search(query: StoreQuery): Promise<StoreEntry[]>
}

export function contextSearchTool(
  source: StoreSearchSource,
  maxBytes: number,
): ToolDefinition<ContextSearchParameters, string, 'context_search'> {
  return defineTool({
    name: 'context_search',
    description:
      'Search what you and other agents stored, in this and in earlier sessions: best first, or the latest first without a query. Read one with context_read.',
    parameters: {
      type: 'object',
      properties: {
        query: textSchema('Words to look for. Without them: the latest entries.', MAXIMUM_LINE),
        agent: textSchema('Only entries of this agent.', MAXIMUM_LINE),
        session_id: textSchema('Only entries of this session.', MAXIMUM_LINE),
        type: typeSchema,
        tags: listSchema('Entries that have all of these tags.'),
        since: textSchema('Entries written at this time or later: ISO 8601, such as 2026-02-21.', MAXIMUM_LINE),
        limit: {
          type: 'integer',
          minimum: 1,
          maximum: MAXIMUM_LIMIT,
          default: DEFAULT_LIMIT,
          description: 'How many entries to find at most.',
        },
      },
      required: [],
      additionalProperties: false,
    },
    examples: [
      {
        description: 'Find out what is known of logging in',
        input: { query: 'login session token', type: 'finding' },
        output:
          '[1 entry found, best first: path | type | agent | time | tags, and how it begins. …]\n<stored-output-…>\ncode-reviewer/20260221T143022-auth-vulnerability.md | finding | code-reviewer | 2026-02-21T14:30:22Z | security\n  # Tokens are compared with == …\n</stored-output-…>',
      },
    ],
    execute(parameters, options) {
      return execute(
        options,
        async () => search(source, readQuery(parameters), maxBytes),
        (error) => explainStoreFailure(error, undefined),
      )
    },
  })
}

function readQuery(parameters: unknown): StoreQuery {
  const read = readParameters<ContextSearchParameters>(
    'context_search',
    parameters,
    ['query', 'agent', 'session_id', 'type', 'tags', 'since', 'limit'],
    '{"query": "login token"}',
  )
  const query = readText(read.query, 'query', 'login token', MAXIMUM_LINE)
  const agent = readText(read.agent, 'agent', 'code-reviewer', MAXIMUM_LINE)
  const sessionId = readText(read.session_id, 'session_id', 'a1b2c3d4', MAXIMUM_LINE)
  const type = readType(read.type)
  const tags = readTexts(read.tags, 'tags', 'security')
  const since = readText(read.since, 'since', '2026-02-21', MAXIMUM_LINE)
  return {
    ...(query === undefined ? {} : { query, ranked: true }),
    ...(agent === undefined ? {} : { agent }),
    ...(sessionId === undefined ? {} : { sessionId }),
    ...(type === undefined ? {} : { type }),
    ...(tags === undefined ? {} : { tags }),
    ...(since === undefined ? {} : { since }),
    limit: readWhole(read.limit, 'limit', 1, MAXIMUM_LIMIT) ?? DEFAULT_LIMIT,
  }
}

async function search(source: StoreSearchSource, query: StoreQuery, maxBytes: number): Promise<ToolResult<string>> {
  const entries = await source.search(query)
  if (entries.length === 0) {
    const { limit: _limit, ranked: _ranked, ...conditions } = query
    return failure(
      Object.keys(conditions).length === 0
        ? 'Nothing is stored yet.'
        : 'No stored entry matches. Try other words, or fewer conditions.',
    )
  }
  const items = entries.map(describeHit)
  const order = query.ranked === true ? 'best first' : 'the latest first'
  const { text, shown } = fit(items.length, maxBytes, (count) =>
    frame(
      `${found(count)}, ${order}: path | type | agent | time | tags, and how it begins.`,
      items.slice(0, count).join('\n'),
      'Read one: context_read with "path"',
      ENTRY_NOTE,
    ),
  )
  const leftOut = items.length - shown
  return given(leftOut === 0 ? `${found(shown)}.` : `${found(shown)}, ${leftOut} left out for their size.`, text)
}

function found(count: number): string {
  return count === 1 ? '1 entry found' : `${count} entries found`
}

function describeHit(entry: StoreEntry): string {
  const beginning = entry.content.slice(0, BEGINNING).trim()
  return beginning === '' ? describeEntry(entry) : `${describeEntry(entry)}\n  ${inLine(beginning, BEGINNING_BYTES)}`
}
