import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ContextHistory, ContextManager } from '../dist/index.js'
import { agentContextJson, placesIn } from './support/command-line.ts'
import { hooksAtOnce, storm } from './support/mcp-storm.ts'
import { contextsIn, holds, inDirectory } from './support/processes.ts'

const SECONDS = 60
const HOOKS = 200
const LIMIT = { timeout: 600_000 }

describe('storms on the places of coding agents', () => {
  test(
    'a minute of two servers, the library and hooks loses nothing',
    LIMIT,
    inDirectory(async (directory) => {
      const { acknowledged, lost, corrupt } = await storm(directory, SECONDS)
      assert.deepEqual([lost, corrupt], [[], []])
      for (const [writer, count] of Object.entries(acknowledged)) {
        holds(count > SECONDS / 2, `${writer} wrote ${count} times`)
      }
    }),
  )

  test(
    `${HOOKS} hooks at once lose nothing and leave no process`,
    LIMIT,
    inDirectory(async (directory) => {
      const { answers, pids } = await hooksAtOnce(directory, HOOKS, (index) => ({
        session_id: `session-${index % 7}`,
        cwd: directory,
        tool_name: 'Bash',
        tool_input: { command: `echo ${index}` },
        tool_response: { stdout: `output ${index}.\n`.repeat(2000), stderr: '' },
      }))
      const { dir, history } = placesIn(directory)
      assert.equal(contextsIn(dir).length, HOOKS)
      assert.equal((await new ContextHistory({ path: history }).read(HOOKS * 2)).length, HOOKS)
      const reader = new ContextManager({ contextDir: dir })
      for (const [index, answer] of answers.entries()) {
        const handle = /ctx_[0-9a-f]+/.exec(answer)?.[0] ?? ''
        holds((await reader.readContext(handle, { maxBytes: 1000 })).text.includes(`output ${index}.`), answer)
      }
      for (const pid of pids) {
        assert.throws(() => process.kill(pid, 0), `${pid} is still there`)
      }
      const { items } = await agentContextJson<{ items: { problems: unknown[] }[] }>(directory, ['verify'])
      assert.deepEqual(
        items.flatMap(({ problems }) => problems),
        [],
      )
    }),
  )
})
