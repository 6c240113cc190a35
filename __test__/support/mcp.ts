/** Clients of the server `agent-context mcp`, over its standard input and output. */

import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { environmentIn, PROGRAM } from './command-line.ts'
import { runtimeParameters } from './processes.ts'

/** The text of a tool's answer. */
export interface Answer {
  readonly text: string
  readonly isError: boolean
}

export interface Connection extends AsyncDisposable {
  readonly client: Client
  call(name: string, args?: Record<string, unknown>): Promise<Answer>
}

/** The words that start the program on this runtime. */
export const programWords = (words: readonly string[]): string[] => [
  ...runtimeParameters(process.execPath),
  PROGRAM,
  ...words,
]

export async function connect(
  directory: string,
  words: readonly string[] = [],
  mode: 'auto' | 'legacy' = 'auto',
  environment: Readonly<Record<string, string | undefined>> = {},
): Promise<Connection> {
  const client = new Client({ name: 'test', version: '1.0.0' }, { versionNegotiation: { mode } })
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: programWords(['mcp', ...words]),
      env: JSON.parse(JSON.stringify(environmentIn(directory, environment))) as Record<string, string>,
      cwd: directory,
    }),
  )
  return {
    client,
    async call(name, args = {}) {
      const { content, isError } = await client.callTool({ name, arguments: args })
      const [block] = content
      return { text: block?.type === 'text' ? block.text : '', isError: isError === true }
    },
    [Symbol.asyncDispose]: () => client.close(),
  }
}
