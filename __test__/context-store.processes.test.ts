import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { ContextStore } from '../dist/index.js'
import { inTestPlace } from './support/postgres.ts'
import { type Child, holds, inDirectory, linesOf, PATIENT, start } from './support/processes.ts'
import { readFileSync } from './support/stored-files.ts'

const UPDATES = 500
const AT_ONCE = 8
const WRITERS = 3
/** How long a writer lives after its first supersession, in ms. */
const LIVES = [400, 700, 1000]
const TEMPORARY = /\.tmp$/

const store = (path: string, agent = 'code-reviewer'): ContextStore =>
  new ContextStore({ agent, path, ...inTestPlace({}) })

/** Waits until a writer has superseded an entry. */
async function superseding(writer: Child): Promise<void> {
  while (!(await writer.line()).startsWith('superseded ')) {
    // Its first write.
  }
}

describe('processes that share a store', () => {
  test(
    `2 × ${UPDATES} changes of one entry: every one is in its changelog`,
    PATIENT,
    inDirectory(async (path) => {
      const reader = store(path)
      const entry = await reader.write({ type: 'finding', slug: 'shared', content: 'It is shared.', tags: ['first'] })
      const agents = ['agent-a', 'agent-b']
      const children = agents.map((agent) => start('store-updater.mjs', [path, entry.path, agent, UPDATES, AT_ONCE]))
      for (const child of children) {
        assert.equal(await child.line(), 'ready')
      }
      for (const child of children) {
        child.send('go')
      }
      // A concurrent reader always sees a complete entry, which never loses content.
      let seen = 0
      let reads = 0
      const over = Promise.all(children.map(({ ended }) => ended))
      let isOver = false
      void over.then(() => {
        isOver = true
      })
      while (!isOver) {
        const { changelog, content } = await reader.read(entry.path)
        assert.equal(content, 'It is shared.')
        holds(changelog.length >= seen, `${changelog.length} changes after ${seen}`)
        seen = changelog.length
        reads++
        await setTimeout(5)
      }
      for (const ended of await over) {
        assert.deepEqual({ code: ended.code, stderr: ended.stderr }, { code: 0, stderr: '' })
      }
      const { changelog, tags } = await reader.read(entry.path)
      assert.equal(changelog.length, 2 * UPDATES)
      for (const agent of agents) {
        const own = changelog.filter((change) => change.agent === agent).map(({ description }) => description)
        const numbers = own.map((description) => Number(description.split(' ')[1])).sort((one, other) => one - other)
        assert.deepEqual(
          numbers,
          Array.from({ length: UPDATES }, (_, number) => number),
        )
      }
      assert.equal(tags.length, 1 + 2 * 10)
      const lines = readFileSync(join(path, entry.path), 'utf8').split('\n')
      assert.equal(lines.filter((line) => line.startsWith('- ')).length, 2 * UPDATES)
      assert.equal(lines.filter((line) => line === '## Changelog').length, 1)
      holds(reads > 5, `${reads} reads`)
    }),
  )

  test(
    'writers that are killed leave whole entries, and a supersession is there or not',
    PATIENT,
    inDirectory(async (path) => {
      const acknowledged: { child: Child; lines: string[] }[] = []
      for (const life of LIVES) {
        const children = Array.from({ length: WRITERS }, (_, number) =>
          start('store-writer.mjs', [path, `agent-${number}`]),
        )
        // In a database, the locks of those who were killed end after seconds.
        await Promise.all(children.map((child) => superseding(child)))
        await setTimeout(life)
        for (const child of children) {
          child.process.kill('SIGKILL')
          acknowledged.push({ child, lines: linesOf(await child.ended) })
        }
      }
      const reader = store(path)
      const entries = await reader.search({ limit: 1_000_000 })
      const byPath = new Map(entries.map((entry) => [entry.path, entry]))
      const { problems, danglingLinks } = await reader.verify()
      assert.deepEqual({ problems, danglingLinks }, { problems: [], danglingLinks: [] })
      let superseded = 0
      for (const line of acknowledged.flatMap(({ lines }) => lines)) {
        const [what, old = '', replacement] = line.split(' ')
        holds(byPath.has(old), `${old} is lost`)
        if (what === 'superseded') {
          superseded++
          assert.equal(byPath.get(old)?.supersededBy, replacement)
        }
      }
      holds(superseded > WRITERS, `${superseded} were acknowledged`)
      for (const entry of entries) {
        const [link] = entry.links
        if (entry.type === 'decision') {
          assert.equal(byPath.get(link ?? '')?.supersededBy, entry.path, 'half a supersession')
        } else if (entry.supersededBy !== undefined) {
          assert.deepEqual(byPath.get(entry.supersededBy)?.links, [entry.path], 'half a supersession')
        }
      }
      // Housekeeping removes the temporary files of ended processes after an hour.
      holds(!entries.some(({ path: name }) => TEMPORARY.test(name)), 'a temporary file is an entry')
    }),
  )
})
