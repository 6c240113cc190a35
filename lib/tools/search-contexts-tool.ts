/** `search_contexts`: the tool that searches stored outputs. */

import { inspect } from '../arguments/errors.ts'
import type { TaskId } from '../arguments/types.ts'
import type { SearchHit, SearchOptions, SearchSnippet } from '../manager/retrieval-types.ts'
import { defineTool } from './define-tool.ts'
import { describePointer, explainFailure, fit, frame, given, inLine } from './stored-text.ts'
import {
  execute,
  failure,
  readBoolean,
  readParameters,
  readText,
  readWhole,
  WrongParameters,
} from './tool-parameters.ts'
import type { ToolSettings } from './tool-settings.ts'
import type { ToolDefinition, ToolResult } from './types.ts'

const DEFAULT_LIMIT = 5
const MAXIMUM_LIMIT = 20
const MAXIMUM_TEXT = 500
const SNIPPETS = 3
const SNIPPET_LENGTH = 200
/** The room for a snippet in any script, in bytes. */
const SNIPPET_BYTES = 400

/** The arguments that the model passes to `search_contexts`. */
export interface SearchContextsParameters {
  /** The words to search for. */
  query: string
  /** Only outputs of this tool. */
  tool?: string
  /**
   * The largest number of hits.
   * @default 5
   */
  limit?: number
  /**
   * Whether to explain why each output was found.
   * @default false
   */
  explain?: boolean
}

/** The methods of a manager that `search_contexts` uses. */
export interface SearchSource {
  search(query: string, options?: SearchOptions | null): Promise<readonly SearchHit<TaskId>[]>
}

export function searchContextsTool<Prefix extends string>(
  source: SearchSource,
  { maxBytes, sessions, prefix }: ToolSettings<Prefix>,
): ToolDefinition<SearchContextsParameters, string, `${Prefix}search_contexts`> {
  return defineTool({
    name: `${prefix}search_contexts`,
    description: `Search the tool outputs stored in this session for words, best first, with the places where they stand. Read more around a place with ${prefix}read_context_slice.`,
    parameters: {
      type: 'object',
      properties: {
        query: { type: 'string', minLength: 1, maxLength: MAXIMUM_TEXT, description: 'Words to look for.' },
        tool: { type: 'string', minLength: 1, maxLength: MAXIMUM_TEXT, description: 'Only outputs of this tool.' },
        limit: {
          type: 'integer',
          minimum: 1,
          maximum: MAXIMUM_LIMIT,
          default: DEFAULT_LIMIT,
          description: 'How many outputs to find at most.',
        },
        explain: { type: 'boolean', default: false, description: 'Say which words counted, and where.' },
      },
      required: ['query'],
      additionalProperties: false,
    },
    examples: [
      {
        description: 'Find where sessions are refreshed',
        input: { query: 'refresh session token' },
        output:
          '[1 stored output found, best first. …]\n<stored-output-…>\nctx_1f2e3d4c5b6a7988 | read_file | read_file: src/login.ts | 48213 bytes | 2025-12-18T10:30:00.000Z\n  line 412: function refreshSession(token: string) {\n</stored-output-…>',
      },
    ],
    execute(parameters, options) {
      return execute(
        options,
        async (signal) => {
          const read = readParameters<SearchContextsParameters>(
            `${prefix}search_contexts`,
            parameters,
            ['query', 'tool', 'limit', 'explain'],
            '{"query": "refresh token"}',
          )
          const query = readText(read.query, 'query', 'refresh token', MAXIMUM_TEXT)
          if (query === undefined) {
            throw new WrongParameters(
              'query is missing: pass the words to look for, such as {"query": "refresh token"}.',
            )
          }
          const toolName = readText(read.tool, 'tool', 'read_file', MAXIMUM_TEXT)
          const limit = readWhole(read.limit, 'limit', 1, MAXIMUM_LIMIT) ?? DEFAULT_LIMIT
          const explain = readBoolean(read.explain, 'explain') ?? false
          return search(source, { maxBytes, sessions, prefix }, { query, toolName, limit, explain, signal })
        },
        (error) => explainFailure(error, undefined, `Call ${prefix}search_contexts with other words.`, prefix),
      )
    },
  })
}

/** The checked arguments of a call. */
interface SearchCall {
  readonly query: string
  readonly toolName: string | undefined
  readonly limit: number
  readonly explain: boolean
  readonly signal: AbortSignal | undefined
}

async function search(
  source: SearchSource,
  { maxBytes, sessions, prefix }: ToolSettings,
  { query, toolName, limit, explain, signal }: SearchCall,
): Promise<ToolResult<string>> {
  const options: SearchOptions = { limit, snippets: SNIPPETS, snippetLength: SNIPPET_LENGTH }
  if (signal !== undefined) {
    options.signal = signal
  }
  if (sessions !== 'own') {
    options.sessions = sessions
  }
  if (toolName !== undefined) {
    options.toolName = toolName
  }
  if (explain) {
    options.explain = true
  }
  const hits = await source.search(query, options)
  if (hits.length === 0) {
    const where = toolName === undefined ? '' : ` of the tool ${inspect(toolName)}`
    return failure(
      `Nothing stored${where} matches ${inspect(query)}. Try other words or fewer, or ${prefix}list_contexts for what is stored.`,
    )
  }
  const items = hits.map(describeHit)
  const { text, shown } = fit(items.length, maxBytes, (count) =>
    frame(
      `${found(count)}, best first: id | tool | what it did | size | time, and where the words stand.`,
      items.slice(0, count).join('\n'),
      `Read around a place: ${prefix}read_context_slice with "id", and "from_line" or "from_byte"`,
    ),
  )
  const leftOut = items.length - shown
  return given(leftOut === 0 ? `${found(shown)}.` : `${found(shown)}, ${leftOut} left out for their size.`, text)
}

function found(count: number): string {
  return count === 1 ? '1 stored output found' : `${count} stored outputs found`
}

function describeHit(hit: SearchHit<TaskId>): string {
  return [describePointer(hit), ...describeReason(hit), ...hit.snippets.slice(0, SNIPPETS).map(describeSnippet)].join(
    '\n',
  )
}

function describeReason({ score, matchedBy, explain }: SearchHit<TaskId>): string[] {
  if (explain === undefined) {
    return []
  }
  const terms = explain.map(
    ({ term, fields, share }) => `${inLine(term, SNIPPET_BYTES)} ${Math.round(100 * share)} % (${fields.join(', ')})`,
  )
  const similar = matchedBy === 'fuzzy' ? ', by similar words' : ''
  return [`  why: score ${score.toFixed(2)}${similar}${terms.length === 0 ? '' : `: ${terms.join(', ')}`}`]
}

function describeSnippet({ field, text, line, byteOffset }: SearchSnippet): string {
  const places = [
    ...(line === undefined ? [] : [`line ${line}`]),
    ...(byteOffset === undefined ? [] : [`byte ${byteOffset}`]),
  ]
  const place = field === 'arguments' ? 'arguments' : places.join(', ') || 'result'
  return `  ${place}: ${inLine(text, SNIPPET_BYTES)}`
}
