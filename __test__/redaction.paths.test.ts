/** Secrets in paths that messages show. */

import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { ContextHistory, ContextManager, ContextStore, RepoMemory } from '../dist/index.js'
import { inDirectory, rejectsWith } from './support/fixtures.ts'

const HASH = 'a'.repeat(64)

describe('a password in a path that was normalised', () => {
  const SECRET = 'Tr0ub4dor-3xyz'
  const NORMALISED = `https:/deploy:${SECRET}@git.example.com/x.json`

  const shown = (error: unknown): string => {
    const { message, stack, cause } = error as Error & { cause?: Error & { path?: string } }
    return JSON.stringify([message, stack, cause?.message, cause?.path, cause?.stack])
  }

  it('shows neither in error messages nor to onDebug', () =>
    inDirectory(async (directory) => {
      const told: string[] = []
      const onDebug = (message: string, data?: unknown): void => void told.push(message, JSON.stringify(data) ?? '')
      const contextDir = join(directory, `https:/deploy:${SECRET}@git.example.com`)
      mkdirSync(contextDir, { recursive: true })
      writeFileSync(join(contextDir, 'inner'), '')
      const failures: unknown[] = []
      const failing = async (work: () => Promise<unknown>): Promise<void> => {
        failures.push(await rejectsWith(work, 'ERR_CONTEXT_IO'))
      }
      const below = join(contextDir, 'inner')
      await failing(() => new ContextManager({ contextDir: below, onDebug }).saveContext('t', {}, 1))
      const entry = { toolName: 't', params: {}, result: 1, success: true }
      await failing(() => new ContextHistory({ path: join(below, 'h.jsonl'), onDebug }).append(entry))
      const store = new ContextStore({ agent: 'a', path: below, onDebug })
      await failing(() => store.write({ type: 'finding', slug: 's', content: 'c' }))
      const memory = await RepoMemory.open({ repoHash: HASH, root: below, onDebug })
      await failing(() => memory.upsertNote({ content: 'n' }))
      const manager = new ContextManager({ contextDir: directory, onDebug })
      failures.push(await manager.loadContext(NORMALISED).catch((error: unknown) => error))
      await manager.loadContexts([NORMALISED])
      for (const failure of failures) {
        assert.ok(!shown(failure).includes(SECRET), shown(failure))
      }
      assert.ok(!told.join('\n').includes(SECRET), told.join('\n'))
    }))
})
