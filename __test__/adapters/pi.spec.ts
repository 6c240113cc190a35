/** `agent-context/pi` in sessions of Pi with a scripted model. */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type ExtensionAPI, SessionManager } from '@earendil-works/pi-coding-agent'
import { contextExtension } from 'agent-context/pi'
import { describe, expect, test } from 'vitest'
import { adapterSuite, type Run } from './support/adapter-suite.ts'
import { LARGE_TEXT, newDirectory, newManager, recordsOf, runGuide } from './support/fixtures.ts'
import { scriptedSession } from './support/pi-session.ts'
import { callOf } from './support/script.ts'

/** What a tool of Pi gives. */
const contentOf = (output: unknown) =>
  Array.isArray(output)
    ? output
    : [{ type: 'text' as const, text: typeof output === 'string' ? output : JSON.stringify(output) }]

async function sessionOf({ tools, script, manager, taskId, signal }: Run) {
  const cwd = newDirectory()
  const register = (pi: ExtensionAPI) => {
    for (const [name, run] of Object.entries(tools)) {
      pi.registerTool({
        name,
        label: name,
        description: 'd',
        parameters: { type: 'object', properties: { query: { type: 'string' } } } as never,
        execute: async (_, input, abort, update) => {
          const report = (progress: string) => update?.({ content: contentOf(progress), details: undefined })
          return { content: contentOf(await run(input as { query?: string }, abort, report)), details: undefined }
        },
      })
    }
  }
  const extension = manager === undefined ? [] : [contextExtension({ manager: () => manager, taskId })]
  const sessionManager = SessionManager.inMemory(cwd)
  const { session, requests } = await scriptedSession({
    script,
    cwd,
    sessionManager,
    extensions: [register, ...extension],
  })
  signal?.addEventListener('abort', () => void session.abort())
  /** Asks, and gives what came of it. */
  const prompt = async () => {
    const [outcome] = await Promise.allSettled([session.prompt('Who is customer 7?')])
    const kept = JSON.stringify(session.messages.filter(({ role }) => role !== 'system'))
    session.dispose()
    return { requests, kept, ...(outcome.status === 'rejected' && { error: outcome.reason }) }
  }
  return { session, prompt }
}

adapterSuite({
  name: 'Pi',
  async run(given) {
    const { prompt } = await sessionOf(given)
    return prompt()
  },
  async stream(given) {
    const { session, prompt } = await sessionOf(given)
    const [pieces, reports, outputs]: [string[], string[], string[]] = [[], [], []]
    session.subscribe((event) => {
      if (event.type === 'message_update' && event.assistantMessageEvent.type === 'text_delta') {
        pieces.push(event.assistantMessageEvent.delta)
      } else if (event.type === 'tool_execution_update') {
        reports.push(event.partialResult.content[0].text)
      } else if (event.type === 'tool_execution_end') {
        outputs.push(JSON.stringify(event.result))
      }
    })
    return { ...(await prompt()), pieces, reports, outputs }
  },
  withImage: (text, png) => [
    { type: 'text', text },
    { type: 'image', data: png, mimeType: 'image/png' },
  ],
  turn: 'support/pi-turn.ts',
  example: 'pi',
})

describe('contextExtension', () => {
  test('leaves what was read to be worked on in the conversation, and stores it', async () => {
    const [cwd, manager] = [newDirectory(), newManager()]
    writeFileSync(join(cwd, 'large.json'), LARGE_TEXT.replaceAll('},', '},\n').slice(0, 40_000))
    const script = [callOf('read', { path: 'large.json' }), callOf('bash', { command: 'cat large.json' }), 'done']
    const { session, requests } = await scriptedSession({
      script,
      cwd,
      sessionManager: SessionManager.inMemory(cwd),
      extensions: [contextExtension({ manager: () => manager })],
    })
    await session.prompt('go')
    session.dispose()
    const [, afterRead = '', afterBash = ''] = requests
    expect(afterRead).toContain('Customer number 77')
    expect(afterBash.length - afterRead.length).toBeLessThan(6000)
    expect(recordsOf(manager)).toMatchObject([
      { toolName: 'read', callId: 'call-1-0', success: true },
      { toolName: 'bash', callId: 'call-2-0', success: true },
    ])
  })

  test('gives each session a manager of its own', async () => {
    const cwd = newDirectory()
    const ids: string[] = []
    const manager = (sessionId: string) => {
      ids.push(sessionId)
      return newManager({ sessionId })
    }
    const extension = contextExtension({ manager })
    for (const id of ['one', 'two']) {
      const sessionManager = SessionManager.inMemory(cwd, { id })
      const script = [callOf('bash', { command: 'echo hello' }), 'done']
      const { session } = await scriptedSession({ script, cwd, sessionManager, extensions: [extension] })
      await session.prompt('go')
      session.dispose()
    }
    expect(ids).toEqual(['one', 'two'])
  })

  test('refuses wrong arguments, and a Pi that is too old', () => {
    expect(() => contextExtension({ manager: 'x' as never })).toThrow('manager must be a function')
    expect(() => contextExtension({ managers: 'x' } as never)).toThrow("unknown option 'managers'")
    expect(() => contextExtension()({ on() {} } as never)).toThrow('Pi 0.87')
  })
})

test('the guide runs', () => {
  const modules = {
    'pi.ts': `
import { SessionManager, type ExtensionAPI } from '@earendil-works/pi-coding-agent'
import { scriptedSession } from '../../support/pi-session.ts'
export async function start(extension: (pi: ExtensionAPI) => void) {
  const script = [[{ tool: 'bash', input: { command: "node -e \\"console.log('customer '.repeat(9000))\\"" } }], 'Customer 7 pays on time.']
  const cwd = process.env['HOME'] ?? '.'
  const { session, requests } = await scriptedSession({ script, cwd, sessionManager: SessionManager.inMemory(cwd), extensions: [extension] })
  await session.prompt('Who is customer 7?')
  session.dispose()
  console.log(requests.at(-1))
}
`,
  }
  expect(runGuide('pi', modules)).toContain('ctx_')
})
