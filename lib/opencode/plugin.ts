/** A plugin of opencode: each output passes the hook, in a process of its own. On any failure the output stays. */

import { spawn } from 'node:child_process'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Beside this module. */
const SCRIPT = join(dirname(fileURLToPath(import.meta.url)), 'agent-context.js')
/** A hook that has not answered by then is left, in ms. */
const TIMEOUT = 10_000

interface Call {
  readonly tool: string
  readonly sessionID: string
  readonly callID: string
  readonly args?: unknown
}
interface Output {
  title?: string
  output: string
  metadata?: unknown
}

function answerOf(event: string, input: object): Promise<{ output?: unknown; context?: unknown }> {
  return new Promise((resolve) => {
    let text = ''
    const child = spawn('node', [SCRIPT, 'hook', 'opencode', event], {
      stdio: ['pipe', 'pipe', 'ignore'],
      timeout: TIMEOUT,
    })
    child.on('error', () => resolve({}))
    child.stdin.on('error', () => resolve({}))
    child.stdout.setEncoding('utf8').on('data', (part: string) => {
      text += part
    })
    child.on('close', () => {
      try {
        resolve(JSON.parse(text) as { output?: unknown })
      } catch {
        resolve({})
      }
    })
    child.stdin.end(JSON.stringify(input))
  })
}

export const AgentContextPlugin = ({ directory }: { readonly directory: string }) =>
  Promise.resolve({
    'tool.execute.after': async (call: Call, output: Output): Promise<void> => {
      const answer = await answerOf('tool-execute-after', { ...call, directory, output })
      if (typeof answer.output === 'string') {
        output.output = answer.output
      }
    },
    'experimental.session.compacting': async (
      { sessionID }: { readonly sessionID: string },
      output: { readonly context: string[] },
    ): Promise<void> => {
      const { context } = await answerOf('session-start', { sessionID, directory })
      if (typeof context === 'string') {
        output.context.push(context)
      }
    },
  })
