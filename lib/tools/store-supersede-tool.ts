/** `context_supersede`: the tool that writes an entry which replaces another. */

import type { NewStoreEntry, StoreEntry } from '../store/types.ts'
import { defineTool } from './define-tool.ts'
import {
  EXAMPLE_PATH,
  explainStoreFailure,
  MAXIMUM_LINE,
  MAXIMUM_PATH,
  type NewEntryParameters,
  needed,
  newEntrySchema,
  readNewEntry,
  readPath,
  stored,
  textSchema,
} from './store-tool.ts'
import { execute, readParameters, readText } from './tool-parameters.ts'
import type { ToolDefinition } from './types.ts'

/** The arguments that the model passes to `context_supersede`. */
export interface ContextSupersedeParameters extends NewEntryParameters {
  /** The path of the entry that is replaced. */
  path: string
  /** The reason, for the changelog of the replaced entry. */
  reason: string
}

/** The methods of a store that `context_supersede` uses. */
export interface SupersedeSource {
  supersede(
    path: string,
    replacement: NewStoreEntry,
    reason: string,
  ): Promise<{ old: StoreEntry; replacement: StoreEntry }>
}

export function contextSupersedeTool(
  source: SupersedeSource,
): ToolDefinition<ContextSupersedeParameters, string, 'context_supersede'> {
  return defineTool({
    name: 'context_supersede',
    description:
      'Store an entry that takes the place of one that is wrong or out of date. The old one stays, marked as superseded; the two link to each other.',
    parameters: {
      type: 'object',
      properties: {
        path: textSchema('The entry whose place is taken: a path from context_search or context_read.', MAXIMUM_PATH),
        reason: textSchema('Why, in one line, for the changelog of the old one.', MAXIMUM_LINE),
        ...newEntrySchema,
      },
      required: ['path', 'reason', 'type', 'slug', 'content'],
      additionalProperties: false,
    },
    examples: [
      {
        description: 'Correct what was found out before',
        input: {
          path: EXAMPLE_PATH,
          reason: 'The comparison is in constant time since 4f2a',
          type: 'finding',
          slug: 'auth-comparison',
          content: '# Tokens are compared in constant time\n\n…',
        },
        output:
          '[Stored as code-reviewer/20260301T090000-auth-comparison.md, revision 8877665544332211. Read it with context_read({"path":"code-reviewer/20260301T090000-auth-comparison.md"})]',
      },
    ],
    execute(parameters, options) {
      let path: string | undefined
      return execute(
        options,
        async () => {
          const read = readParameters<ContextSupersedeParameters>(
            'context_supersede',
            parameters,
            ['path', 'reason', 'type', 'slug', 'content', 'tags', 'links'],
            JSON.stringify({ path: EXAMPLE_PATH, reason: 'Fixed', type: 'finding', slug: 'auth', content: '…' }),
          )
          path = readPath(read.path)
          const reason = needed(
            readText(read.reason, 'reason', 'Fixed in 4f2a', MAXIMUM_LINE),
            'reason',
            'Fixed in 4f2a',
          )
          const { replacement } = await source.supersede(path, readNewEntry(read), reason)
          return stored('Stored', replacement)
        },
        (error) => explainStoreFailure(error, path),
      )
    },
  })
}
