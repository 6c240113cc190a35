/** `context_update`: the tool that changes an entry of any agent. */

import type { ContextType, StoreEntry, StoreEntryChange, UpdateOptions } from '../store/types.ts'
import { defineTool } from './define-tool.ts'
import {
  EXAMPLE_PATH,
  explainStoreFailure,
  listSchema,
  MAXIMUM_CONTENT,
  MAXIMUM_LINE,
  MAXIMUM_PATH,
  needed,
  readPath,
  readTexts,
  readType,
  stored,
  textSchema,
  typeSchema,
} from './store-tool.ts'
import { execute, readParameters, readText } from './tool-parameters.ts'
import type { ToolDefinition } from './types.ts'

/** The arguments that the model passes to `context_update`. */
export interface ContextUpdateParameters {
  /** The path of the entry. */
  path: string
  /** What was changed and why, for the changelog. */
  description: string
  /** The new content. */
  content?: string
  /** The new type. */
  type?: ContextType
  /** Tags to add. */
  add_tags?: string[]
  /** Tags to remove. */
  remove_tags?: string[]
  /** Paths of entries to link to. */
  add_links?: string[]
  /** Links to remove. */
  remove_links?: string[]
  /** The revision that the model read; the call fails if the entry has another one. */
  if_revision?: string
}

/** The methods of a store that `context_update` uses. */
export interface UpdateSource {
  update(
    path: string,
    change: StoreEntryChange,
    description: string,
    options?: UpdateOptions | null,
  ): Promise<StoreEntry>
}

export function contextUpdateTool(
  source: UpdateSource,
): ToolDefinition<ContextUpdateParameters, string, 'context_update'> {
  return defineTool({
    name: 'context_update',
    description:
      'Change a stored entry of any agent; members that are not passed stay unchanged. The change is recorded in its changelog. To replace an entry that is wrong altogether, use context_supersede.',
    parameters: {
      type: 'object',
      properties: {
        path: textSchema('The entry: a path from context_search or context_read.', MAXIMUM_PATH),
        description: textSchema('What is changed and why, in one line, for the changelog.', MAXIMUM_LINE),
        content: textSchema('Takes the place of the whole text: read it first, all of it.', MAXIMUM_CONTENT),
        type: typeSchema,
        add_tags: listSchema('Tags to add.'),
        remove_tags: listSchema('Tags to remove.'),
        add_links: listSchema('Paths of stored entries to link to.', MAXIMUM_PATH),
        remove_links: listSchema('Links to remove.', MAXIMUM_PATH),
        if_revision: textSchema(
          'The revision that context_read returned: nothing is changed if the entry has been changed since.',
          MAXIMUM_LINE,
        ),
      },
      required: ['path', 'description'],
      additionalProperties: false,
    },
    examples: [
      {
        description: 'Mark a finding as fixed',
        input: { path: EXAMPLE_PATH, description: 'Fixed in 4f2a', add_tags: ['fixed'] },
        output: `[Changed as ${EXAMPLE_PATH}, revision 8877665544332211. Read it with context_read({"path":"${EXAMPLE_PATH}"})]`,
      },
    ],
    execute(parameters, options) {
      let path: string | undefined
      return execute(
        options,
        async () => {
          const read = readParameters<ContextUpdateParameters>(
            'context_update',
            parameters,
            [
              'path',
              'description',
              'content',
              'type',
              'add_tags',
              'remove_tags',
              'add_links',
              'remove_links',
              'if_revision',
            ],
            JSON.stringify({ path: EXAMPLE_PATH, description: 'Fixed', add_tags: ['fixed'] }),
          )
          path = readPath(read.path)
          const description = needed(
            readText(read.description, 'description', 'Fixed in 4f2a', MAXIMUM_LINE),
            'description',
            'Fixed in 4f2a',
          )
          const ifRevision = readText(read.if_revision, 'if_revision', '1f2e3d4c5b6a7988', MAXIMUM_LINE)
          const options = ifRevision === undefined ? {} : { ifRevision }
          return stored('Changed', await source.update(path, readChange(read), description, options))
        },
        (error) => explainStoreFailure(error, path),
      )
    },
  })
}

function readChange(read: { readonly [Name in keyof ContextUpdateParameters]?: unknown }): StoreEntryChange {
  const change: StoreEntryChange = {}
  const content = readText(read.content, 'content', 'Markdown…', MAXIMUM_CONTENT)
  const type = readType(read.type)
  const addTags = readTexts(read.add_tags, 'add_tags', 'fixed')
  const removeTags = readTexts(read.remove_tags, 'remove_tags', 'open')
  const links = readTexts(read.add_links, 'add_links', EXAMPLE_PATH, MAXIMUM_PATH)
  const removeLinks = readTexts(read.remove_links, 'remove_links', EXAMPLE_PATH, MAXIMUM_PATH)
  return Object.assign(
    change,
    content === undefined ? {} : { content },
    type === undefined ? {} : { type },
    addTags === undefined ? {} : { addTags },
    removeTags === undefined ? {} : { removeTags },
    links === undefined ? {} : { links },
    removeLinks === undefined ? {} : { removeLinks },
  )
}
