/** Frameworks that are not installed, and those that are too old. */

import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { newDirectory, runScript } from './support/fixtures.ts'
import { installInto } from './support/install-package.ts'

let application = ''

beforeAll(() => {
  application = newDirectory()
  installInto(join(application, 'node_modules/agent-context'))
})

/** What an application prints that catches what goes wrong. */
function outcomeOf(source: string): { code?: string; message: string } {
  const script = join(application, 'application.mjs')
  writeFileSync(
    script,
    `import { ContextManager, StateStore } from 'agent-context'
try {
  ${source}
  console.log('{"message":""}')
} catch ({ code, message }) {
  console.log(JSON.stringify({ code, message }))
}`,
  )
  return JSON.parse(runScript(script)) as { code?: string; message: string }
}

describe.each([
  [
    'langchain',
    'langchain',
    'langchain ^1.5.0',
    'contextMiddleware(new ContextManager())',
    'export const tool = 1, ToolMessage = 2',
  ],
  [
    'langgraph',
    '@langchain/langgraph-checkpoint',
    '@langchain/langgraph-checkpoint ^1.2.2',
    "new StateSaver(new StateStore({ path: './state.db' }))",
    'export class BaseCheckpointSaver {}; export class BaseStore {}',
  ],
  [
    'langgraph',
    '@langchain/langgraph-checkpoint',
    '@langchain/langgraph-checkpoint ^1.2.2',
    "new StateBaseStore(new StateStore({ path: './state.db' }))",
    'export class BaseCheckpointSaver {}; export class BaseStore {}',
  ],
  [
    'claude-agent',
    'zod',
    'zod ^4.2.0',
    'contextServer(new ContextManager(), { createSdkMcpServer: (options) => options, InMemorySessionStore: Object })',
    'export const z = {}',
  ],
  ['opencode', 'zod', 'zod ^4.2.0', 'contextPlugin()({})', 'export const z = {}'],
  [
    'mastra',
    '@mastra/core',
    '@mastra/core ^1.71.0',
    "new StateStorage(new StateStore({ path: './state.db' }))",
    'export class MastraCompositeStore {}; export class MemoryStorage {}; export class WorkflowsStorage {}',
  ],
])('agent-context/%s', (entry, framework, range, call, old) => {
  const name = /\b(?:\w+(?=\())/.exec(call.replace('new ', ''))?.[0]
  const source = `const { ${name} } = await import('agent-context/${entry}'); await ${call}`

  test('is not loaded without its framework, which the error names', () => {
    rmSync(join(application, 'node_modules', framework), { recursive: true, force: true })
    expect(outcomeOf(source)).toMatchObject({
      code: 'ERR_MODULE_NOT_FOUND',
      message: expect.stringContaining(`Cannot find package '${framework}'`),
    })
  })

  test('says at the first call which versions it needs', () => {
    const folder = join(application, 'node_modules', framework)
    mkdirSync(folder, { recursive: true })
    writeFileSync(
      join(folder, 'package.json'),
      '{ "type": "module", "exports": { ".": "./index.js", "./*": "./index.js" } }',
    )
    writeFileSync(join(folder, 'index.js'), old)
    expect(outcomeOf(source)).toMatchObject({
      code: 'ERR_CONTEXT_UNSUPPORTED',
      message: expect.stringContaining(range),
    })
    // Other entries need the same one.
    rmSync(folder, { recursive: true })
  })
})

test.each(['ai-sdk', 'openai-agents', 'mcp', 'strands', 'pi', 'anthropic', 'deepagents', 'testing'])(
  'agent-context/%s loads nothing of a framework',
  (entry) => {
    expect(outcomeOf(`await import('agent-context/${entry}')`)).toEqual({ message: '' })
  },
)
