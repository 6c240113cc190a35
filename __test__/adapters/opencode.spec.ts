/** `agent-context/opencode`: its hooks, called as opencode calls them, and its types against those of opencode. */

import type { Plugin } from '@opencode-ai/plugin'
import { contextPlugin } from 'agent-context/opencode'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { adapterSuite } from './support/adapter-suite.ts'
import { handleIn, LARGE_TEXT, newManager, recordsOf, runGuide } from './support/fixtures.ts'
import { OpencodeSession } from './support/opencode-session.ts'
import { callOf } from './support/script.ts'

adapterSuite({
  name: 'opencode',
  async run({ tools, script, manager, taskId, signal }) {
    const plugin = manager && contextPlugin({ manager: () => manager, taskId })
    const session = await OpencodeSession.start('ses_1', plugin)
    await session.prompt(tools, script, signal)
    return { requests: session.requests, kept: JSON.stringify(session.parts) }
  },
  // Plugins see nothing of what the model says; what tools report comes to them as to all who follow the events.
  async stream({ tools, script, manager, taskId, signal }) {
    const plugin = manager && contextPlugin({ manager: () => manager, taskId })
    const session = await OpencodeSession.start('ses_1', plugin)
    await session.prompt(tools, script, signal)
    const outputs = session.parts.map(({ output }) => JSON.stringify(output))
    return { requests: session.requests, reports: session.reports, outputs, kept: JSON.stringify(session.parts) }
  },
  withImage: (text, png) => ({
    content: [
      { type: 'text', text },
      { type: 'image', data: png, mimeType: 'image/png' },
    ],
  }),
  turn: 'support/opencode-turn.ts',
  example: 'opencode',
})

describe('contextPlugin', () => {
  test('is a plugin of opencode, whose tools have arguments of zod', async () => {
    const plugin: Plugin = contextPlugin({ manager: () => newManager() })
    const { tool = {} } = await plugin({} as never)
    expect(Object.keys(tool)).toEqual(['list_contexts', 'search_contexts', 'read_context_slice'])
    const schema = z.toJSONSchema(z.object(tool['read_context_slice']?.args as never))
    expect(schema.required).toEqual(['id'])
    expect(Object.keys(schema.properties ?? {})).toContain('json_path')
  })

  test('leaves what was read to be worked on in the conversation, and stores it', async () => {
    const manager = newManager()
    const session = await OpencodeSession.start('ses_1', contextPlugin({ manager: () => manager }))
    await session.prompt({ read: () => LARGE_TEXT, bash: () => LARGE_TEXT }, [callOf('read'), callOf('bash'), 'done'])
    const [read, bash] = session.parts.map(({ output }) => (output as { output: string }).output)
    expect(read).toBe(LARGE_TEXT)
    expect(bash?.length).toBeLessThan(3000)
    expect(recordsOf(manager).map(({ toolName }) => toolName)).toEqual(['read', 'bash'])
  })

  test('gives each session, a sub-agent among them, a manager of its own', async () => {
    const managers = new Map<string, ReturnType<typeof newManager>>()
    const manager = (sessionId: string) => {
      const made = newManager({ sessionId })
      managers.set(sessionId, made)
      return made
    }
    const hooks = await contextPlugin({ manager })({})
    for (const id of ['ses_parent', 'ses_child']) {
      await new OpencodeSession(id, hooks).prompt({ bash: () => id }, [callOf('bash'), 'done'])
    }
    expect([...managers.keys()]).toEqual(['ses_parent', 'ses_child'])
    expect([...managers.values()].map(({ size }) => size)).toEqual([1, 1])
  })

  test('names what is stored when a conversation is compacted, and removes it with its session', async () => {
    const manager = newManager()
    const hooks = await contextPlugin({ manager: () => manager })({})
    const session = new OpencodeSession('ses_1', hooks)
    await session.prompt({ bash: () => LARGE_TEXT }, [callOf('bash', { command: 'customers' }), 'done'])
    const output = { context: ['before'] }
    await hooks['experimental.session.compacting']({ sessionID: 'ses_1' }, output)
    expect(output.context).toHaveLength(2)
    expect(output.context[1]).toContain(handleIn(JSON.stringify(session.parts)))
    const [pointer] = manager.getAllPointers()
    await hooks.event({ event: { type: 'session.deleted', properties: { info: { id: 'ses_1' } } } })
    expect(manager.size).toBe(0)
    await expect(manager.loadContext(pointer?.filepath ?? '')).rejects.toThrow()
  })

  test('what opencode reports of other parts and sessions changes nothing', async () => {
    const manager = newManager()
    const hooks = await contextPlugin({ manager: () => manager })({})
    const part = { type: 'text', text: 'hello' }
    for (const event of [
      {},
      { type: 'session.idle', properties: { sessionID: 'ses_1' } },
      { type: 'message.part.updated', properties: { part } },
      { type: 'message.part.updated', properties: { part: { type: 'tool', state: { status: 'running' } } } },
    ]) {
      await hooks.event({ event })
    }
    expect(manager.size).toBe(0)
    await hooks.dispose()
  })

  test('refuses wrong arguments', () => {
    expect(() => contextPlugin({ manager: 'x' as never })).toThrow('manager must be a function')
    expect(() => contextPlugin({ managers: 'x' } as never)).toThrow("unknown option 'managers'")
  })
})

test('the code of the guide runs', () => {
  const modules = {
    'opencode.ts': `
import { LARGE } from '../../support/large.ts'
import { OpencodeSession } from '../../support/opencode-session.ts'
export async function start(plugin: never) {
  const session = await OpencodeSession.start('ses_1', plugin)
  const script = [[{ tool: 'bash', input: {} }], 'Customer 7 pays on time.']
  console.log(await session.prompt({ bash: () => JSON.stringify(LARGE) }, script), session.requests.at(-1))
}
`,
  }
  const output = runGuide('opencode', modules)
  expect(output).toContain('Customer 7 pays on time.')
  expect(output).toContain('ctx_')
})
