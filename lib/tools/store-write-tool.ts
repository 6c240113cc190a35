/** `context_write`: the tool that writes an entry. */

import type { NewStoreEntry, StoreEntry } from '../store/types.ts'
import { defineTool } from './define-tool.ts'
import { explainStoreFailure, type NewEntryParameters, newEntrySchema, readNewEntry, stored } from './store-tool.ts'
import { execute, readParameters } from './tool-parameters.ts'
import type { ToolDefinition } from './types.ts'

/** The arguments that the model passes to `context_write`. */
export interface ContextWriteParameters extends NewEntryParameters {}

/** The methods of a store that `context_write` uses. */
export interface WriteSource {
  write(entry: NewStoreEntry): Promise<StoreEntry>
}

export function contextWriteTool(source: WriteSource): ToolDefinition<ContextWriteParameters, string, 'context_write'> {
  return defineTool({
    name: 'context_write',
    description:
      'Store a finding, decision, artifact, reference or summary that is worth knowing beyond this conversation, for yourself and for other agents.',
    parameters: {
      type: 'object',
      properties: newEntrySchema,
      required: ['type', 'slug', 'content'],
      additionalProperties: false,
    },
    examples: [
      {
        description: 'Keep what was found out',
        input: {
          type: 'finding',
          slug: 'auth-vulnerability',
          content:
            '# Tokens are compared with ==\n\n`src/auth.ts` line 40: the comparison leaks how much of a token is right.',
          tags: ['security', 'authentication'],
        },
        output:
          '[Stored as code-reviewer/20260221T143022-auth-vulnerability.md, revision 1f2e3d4c5b6a7988. Read it with context_read({"path":"code-reviewer/20260221T143022-auth-vulnerability.md"})]',
      },
    ],
    execute(parameters, options) {
      return execute(
        options,
        async () => {
          const read = readParameters<ContextWriteParameters>(
            'context_write',
            parameters,
            ['type', 'slug', 'content', 'tags', 'links'],
            '{"type": "finding", "slug": "auth-vulnerability", "content": "…"}',
          )
          return stored('Stored', await source.write(readNewEntry(read)))
        },
        (error) => explainStoreFailure(error, undefined),
      )
    },
  })
}
