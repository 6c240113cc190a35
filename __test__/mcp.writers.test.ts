import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { storm } from './support/mcp-storm.ts'
import { holds, inDirectory, PATIENT } from './support/processes.ts'

/** A minute of it is in `mcp.storm.test.ts`. */
const SECONDS = 5

describe('two MCP servers, the library and hooks on the same places', () => {
  test(
    'lose nothing of what they acknowledged',
    PATIENT,
    inDirectory(async (directory) => {
      const { acknowledged, lost, corrupt } = await storm(directory, SECONDS)
      assert.deepEqual([lost, corrupt], [[], []])
      for (const [writer, count] of Object.entries(acknowledged)) {
        holds(count > 0, `${writer} wrote nothing`)
      }
    }),
  )
})
