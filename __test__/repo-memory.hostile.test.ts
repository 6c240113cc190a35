/** A repository with source files that need gigabytes to be parsed, through the public API. */

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { debugLog, inDirectory, only } from './support/fixtures.ts'
import { memoryOf, plant } from './support/memories.ts'
import { holds, PATIENT } from './support/processes.ts'

/** They reach their memory budget in a tenth of a second. */
const HOSTILE: Record<string, string> = {
  'src/A.java': '=>typea'.repeat(1000),
  'src/b.c': '=>typea'.repeat(1000),
}
/** On a busy machine these may reach their time limit before their memory budget. */
const LARGE: Record<string, string> = {
  'src/C.java': '=>typea'.repeat(7142),
  'src/d.c': '^yield =^'.repeat(5556),
}
const GOOD: Record<string, string> = {
  'src/E.java': 'class Kept {\n  int number() {\n    return 1;\n  }\n}\n',
  'src/f.c': 'int kept_function(void) {\n  return 1;\n}\n',
}

interface Skipped {
  files: { path: string; reason: string }[]
  total: number
  beyondBound: number
}

describe('a repository map of hostile files', () => {
  it('reports files that need too much memory, and shows the symbols of all others', PATIENT, () =>
    inDirectory(async (directory) => {
      const [workspace, root] = [join(directory, 'workspace'), join(directory, 'root')]
      const files = { ...HOSTILE, ...LARGE, ...GOOD }
      for (const [path, text] of Object.entries(files)) {
        plant(join(workspace, path), text)
      }
      const log = debugLog()
      const memory = await memoryOf(workspace, root, { onDebug: log })
      const map = await memory.repoMap()
      assert.deepEqual(map.files.map(({ path }) => path).sort(), Object.keys(files).sort())
      for (const { path, symbols } of map.files) {
        assert.equal(symbols.length > 0, path in GOOD, path)
      }
      for (const shown of ['class Kept', 'int number()', 'int kept_function(void)']) {
        holds(map.text.includes(shown), `${shown} is not in ${map.text}`)
      }

      const message = 'Skipped source files of the workspace'
      const skipped = only(log.entries.filter((entry) => entry.message === message)).data as Skipped
      assert.deepEqual([skipped.total, skipped.beyondBound], [skipped.files.length, 0])
      const reported = skipped.files.map(({ path, reason }) => {
        assert.equal(reason, 'tooMuchMemory', path)
        return path
      })
      for (const path of Object.keys(HOSTILE)) {
        holds(reported.includes(path), `${path} is not among ${reported}`)
      }
      holds(
        reported.every((path) => path in HOSTILE || path in LARGE),
        `${reported}`,
      )

      // The process goes on: a file that changes is parsed again.
      plant(join(workspace, 'src/A.java'), 'class Repaired {}\n')
      holds((await memory.repoMap()).text.includes('class Repaired'), 'the changed file has its symbols')
    }),
  )
})
