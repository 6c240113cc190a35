import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { environmentIn, PROGRAM } from './support/servers.ts'

const SERVER_MEMORY = fileURLToPath(
  new URL('node_modules/@modelcontextprotocol/server-memory/dist/index.js', import.meta.url),
)
const SERVERS = 2
const SECONDS = 4
const CALLERS = 3
const LIMIT = { timeout: 300_000 }

interface Contender {
  readonly script: readonly string[]
  readonly environment: Record<string, string>
  readonly tool: string
  remember(name: string): Record<string, unknown>
  /** Everything that is known afterwards, by a server of its own. */
  all(client: Client): Promise<string>
}

interface Outcome {
  readonly acknowledged: number
  readonly refused: number
  readonly lost: number
}

const textOf = async (client: Client, name: string, args: Record<string, unknown>): Promise<string> => {
  const { content, isError } = await client.callTool({ name, arguments: args })
  const [block] = content
  const text = block?.type === 'text' ? block.text : ''
  if (isError === true) {
    throw new Error(text)
  }
  return text
}

/** Several servers on the same place; what they acknowledged is looked for afterwards. */
async function race({ script, environment, tool, remember, all }: Contender): Promise<Outcome> {
  const start = async (): Promise<Client> => {
    const client = new Client({ name: 'control', version: '1.0.0' })
    const args = [...script]
    await client.connect(
      new StdioClientTransport({ command: process.execPath, args, env: environment, stderr: 'ignore' }),
    )
    return client
  }
  const clients = await Promise.all(Array.from({ length: SERVERS }, start))
  const end = Date.now() + SECONDS * 1000
  const names: string[] = []
  let refused = 0
  await Promise.all(
    clients.flatMap((client, server) =>
      Array.from({ length: CALLERS }, async (_, caller) => {
        for (let number = 0; Date.now() < end; number++) {
          const name = `fact-${server}-${caller}-${number}.`
          try {
            await textOf(client, tool, remember(name))
            names.push(name)
          } catch {
            refused += 1
          }
        }
      }),
    ),
  )
  await Promise.all(clients.map((client) => client.close()))
  const reader = await start()
  // A damaged file cannot be read: everything is lost.
  const known = await all(reader).catch(() => '')
  await reader.close()
  return { acknowledged: names.length, refused, lost: names.filter((name) => !known.includes(name)).length }
}

describe('two servers that remember at once', () => {
  const inDirectory = (body: (directory: string, context: TestContext) => Promise<void>) => async (t: TestContext) => {
    const directory = mkdtempSync(join(tmpdir(), 'agent-context-control-'))
    try {
      await body(directory, t)
    } finally {
      rmSync(directory, { recursive: true, force: true })
    }
  }

  test(
    'agent-context loses nothing',
    LIMIT,
    inDirectory(async (directory, t) => {
      const outcome = await race({
        script: [PROGRAM, 'mcp'],
        environment: environmentIn(directory),
        tool: 'store_output',
        remember: (name) => ({ tool: 'control', args: { name }, result: name }),
        all: async (client) => {
          let found = ''
          let cursor: string | undefined
          do {
            const page = await client.request({ method: 'resources/list', params: cursor ? { cursor } : {} })
            for (const { uri } of page.resources) {
              if (uri.includes('/context/')) {
                found += JSON.stringify(await client.readResource({ uri }))
              }
            }
            cursor = page.nextCursor
          } while (cursor !== undefined)
          return found
        },
      })
      t.diagnostic(`agent-context: ${JSON.stringify(outcome)}`)
      assert.deepEqual([outcome.refused, outcome.lost], [0, 0])
      assert.ok(outcome.acknowledged > 0)
    }),
  )

  test(
    'server-memory does: the same work finds losses where there are any',
    LIMIT,
    inDirectory(async (directory, t) => {
      const outcome = await race({
        script: [SERVER_MEMORY],
        environment: { ...environmentIn(directory), MEMORY_FILE_PATH: join(directory, 'memory.jsonl') },
        tool: 'create_entities',
        remember: (name) => ({ entities: [{ name, entityType: 'fact', observations: [name] }] }),
        all: (client) => textOf(client, 'read_graph', {}),
      })
      t.diagnostic(`server-memory: ${JSON.stringify(outcome)}`)
      assert.ok(outcome.refused + outcome.lost > 0, JSON.stringify(outcome))
    }),
  )
})
