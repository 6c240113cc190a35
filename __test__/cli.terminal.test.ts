import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { ContextManager } from '../dist/index.js'
import { agentContextOk, contentsOf, environmentIn, PROGRAM, placesIn } from './support/command-line.ts'
import { holds, inDirectory, PATIENT, runtimeParameters } from './support/processes.ts'

/** `script` of util-linux gives a program a terminal. */
const skip = process.platform !== 'linux' || spawnSync('script', ['--version']).error !== undefined

/** Runs the program on a terminal of its own; what it shows, without carriage returns. */
function onTerminal(
  directory: string,
  words: readonly string[],
  { keys = '', environment = {} }: { keys?: string; environment?: Record<string, string> } = {},
): Promise<{ code: number | null; shown: string }> {
  const quoted = [process.execPath, ...runtimeParameters(process.execPath), PROGRAM, ...words].map(
    (word) => `'${word.replace(/'/g, "'\\''")}'`,
  )
  return new Promise((resolve, reject) => {
    const child = spawn('script', ['-qec', quoted.join(' '), '/dev/null'], {
      cwd: directory,
      env: { ...environmentIn(directory), TERM: 'xterm', PAGER: 'cat', ...environment },
    })
    let shown = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      shown += text
      // The answer is typed once the question is there.
      if (keys !== '' && shown.includes('[y/N]')) {
        child.stdin.write(keys)
        keys = ''
      }
    })
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, shown: shown.replaceAll('\r', '') }))
  })
}

async function store(directory: string): Promise<string> {
  const manager = new ContextManager({ contextDir: placesIn(directory).dir })
  const path = await manager.saveContext('npm_test', {}, 'a\u001b[2Jb', null, null, { success: false })
  await manager.close()
  return path
}

describe('on a terminal', { skip }, () => {
  test(
    'there are a header and colours, and NO_COLOR, FORCE_COLOR, TERM=dumb and --color are respected',
    PATIENT,
    inDirectory(async (directory) => {
      await store(directory)
      const coloured = async (words: readonly string[], environment = {}): Promise<boolean> => {
        const { code, shown } = await onTerminal(directory, words, { environment })
        assert.equal(code, 0)
        holds(shown.includes('DESCRIPTION') && shown.includes('npm_test'), shown)
        return shown.includes('\u001b[3')
      }
      assert.equal(await coloured(['list']), true)
      assert.equal(await coloured(['list'], { NO_COLOR: '1' }), false)
      assert.equal(await coloured(['list'], { TERM: 'dumb' }), false)
      assert.equal(await coloured(['list'], { CLICOLOR: '0' }), false)
      assert.equal(await coloured(['list'], { TERM: 'dumb', FORCE_COLOR: '1' }), true)
      assert.equal(await coloured(['list', '--color', 'never'], { FORCE_COLOR: '1' }), false)
      assert.equal(await coloured(['list', '--color', 'always'], { NO_COLOR: '1' }), true)
    }),
  )

  test(
    'JSON has the same bytes as without one',
    PATIENT,
    inDirectory(async (directory) => {
      const path = await store(directory)
      for (const words of [
        ['list', '--json'],
        ['list', '--jsonl'],
        ['read', path, '--json'],
        ['stats', '--json'],
      ]) {
        assert.equal((await onTerminal(directory, words)).shown, await agentContextOk(directory, words))
      }
    }),
  )

  test(
    'stored text does not control it',
    PATIENT,
    inDirectory(async (directory) => {
      const path = await store(directory)
      const { shown } = await onTerminal(directory, ['read', path])
      holds(shown.includes('a\\e[2Jb') && !shown.includes('\u001b[2J'), JSON.stringify(shown))
    }),
  )

  test(
    'forget asks, and only yes removes',
    PATIENT,
    inDirectory(async (directory) => {
      const path = await store(directory)
      const before = contentsOf(directory)
      const no = await onTerminal(directory, ['forget', path], { keys: 'n\n' })
      assert.equal(no.code, 4)
      holds(no.shown.includes('Nothing was changed'), no.shown)
      assert.deepEqual(contentsOf(directory), before)
      assert.equal((await onTerminal(directory, ['forget', path], { keys: 'y\n' })).code, 0)
      holds(!(join('context', path.slice(path.lastIndexOf('/') + 1)) in contentsOf(directory)), 'it is still there')
    }),
  )
})
