import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { ContextHistory, ContextManager, ContextStore, RepoMemory, redact, StateStore } from '../dist/index.js'
import { COMMANDS } from '../lib/cli/command-table.ts'
import { optionsOf } from '../lib/cli/option-uses.ts'
import {
  agentContext,
  agentContextJson,
  agentContextOk,
  contentsOf,
  environmentIn,
  placesIn,
  schemaProblems,
} from './support/command-line.ts'
import { contextsIn, holds, inDirectory, PATIENT } from './support/processes.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const secret = ['ghp', '_', '0123456789abcdefghijABCDEFGHIJ012345'].join('')

async function fill(directory: string): Promise<void> {
  const places = placesIn(directory)
  const manager = new ContextManager({ contextDir: places.dir })
  await manager.saveContext(
    'json',
    { a: 1 },
    { big: 12345678901234567890n.toString(), text: 'é\u2028\ud800', list: [1.5, null] },
  )
  await manager.saveContext('text', {}, 'line\r\nother\n')
  await manager.saveContext('screenshot', {}, { width: 2, image: new Uint8Array([0x89, 0x50, 0, 255]) })
  await manager.close()
  const history = new ContextHistory({ path: places.history })
  await history.append({ toolName: 'grep', params: { pattern: 'x' }, result: [1], durationMs: 3, note: 'kept' })
  await history.recordDecision('Cookies')
  await history.close()
  const store = new ContextStore({ agent: 'me', path: places.store, sessionId: 'session' })
  await store.write({ type: 'finding', slug: 'one', content: '# One\n\nText.', tags: ['a'], links: ['me/other.md'] })
  await store.close()
  const memory = await RepoMemory.open({ workspace: directory, root: places.memory })
  await memory.upsertConvention({ title: 'Tests', content: 'node:test' })
  await memory.appendSummary('run', 'step', 'Done.')
  await memory.close()
  const state = new StateStore({ path: places.state })
  await state.put(['threads', 'a/b'], 'state', { step: 3, text: 'é\u2028', list: [1.5, null] })
  await state.put(['threads'], 'bytes', new Uint8Array([0, 255, 10]), { mediaType: 'image/png' })
  await state.close()
}

/** Options for the same places below another folder. */
const placesElsewhere = (folder: string): string[] => {
  const { dir, history, store, memory, state } = placesIn(folder)
  return ['--dir', dir, '--history', history, '--store', store, '--memory', memory, '--state', state]
}

describe('export and import', () => {
  test(
    'an export imported into empty places gives the same export, and the same files',
    PATIENT,
    inDirectory(async (directory) => {
      await fill(directory)
      const file = join(directory, 'export.jsonl')
      await agentContextOk(directory, ['export', '-o', file])
      const exported = readFileSync(file, 'utf8')
      assert.equal(await agentContextOk(directory, ['export']), exported)
      assert.equal((await agentContext(directory, ['export', '-o', file])).code, 4)
      assert.equal(readFileSync(file, 'utf8'), exported)
      holds(process.platform === 'win32' || (statSync(file).mode & 0o777) === 0o600)
      const elsewhere = placesElsewhere(join(directory, 'elsewhere'))
      const preview = await agentContextJson(directory, ['import', file, '--dry-run', ...elsewhere])
      const report = await agentContextJson<{ imported: object }>(directory, ['import', file, ...elsewhere])
      assert.deepEqual(schemaProblems(report, 'import'), [])
      assert.deepEqual({ ...report, dryRun: true }, preview)
      assert.deepEqual(report.imported, { contexts: 3, entries: 2, storeEntries: 1, memory: 2, state: 2 })
      assert.equal(await agentContextOk(directory, ['export', ...elsewhere]), exported)
      const { dir } = placesIn(directory)
      for (const name of contextsIn(dir)) {
        assert.equal(
          readFileSync(join(directory, 'elsewhere', 'context', name), 'utf8'),
          readFileSync(join(dir, name), 'utf8'),
        )
      }
      const again = await agentContextJson<{ alreadyThere: number }>(directory, ['import', file, ...elsewhere])
      assert.equal(again.alreadyThere, 10)
      const imported = new ContextManager({ contextDir: join(directory, 'elsewhere', 'context') })
      const [pointer] = (await imported.listContexts()).filter(({ toolName }) => toolName === 'screenshot')
      const { result } = await imported.loadContext(pointer?.handle ?? '')
      assert.deepEqual(result, { width: 2, image: new Uint8Array([0x89, 0x50, 0, 255]) })
      await imported.close()
    }),
  )

  test(
    'state keeps its expiry, expired items stay away, and other values are not replaced',
    PATIENT,
    inDirectory(async (directory) => {
      const { state } = placesIn(directory)
      const store = new StateStore({ path: state })
      const { expiresAt = '' } = await store.put(['a'], 'short', 1, { ttl: '1h' })
      await store.put(['a'], 'other', { token: secret })
      const exported = await agentContextOk(directory, ['export', '--state', state])
      const elsewhere = join(directory, 'elsewhere', 'state.db')
      const words = ['import', '-', '--state', elsewhere]
      const dry = await agentContextJson<{ imported: { state: number } }>(directory, [...words, '--dry-run'], {
        input: exported,
      })
      assert.deepEqual([dry.imported.state, existsSync(elsewhere)], [2, false])
      await agentContextOk(directory, words, { input: exported })
      const imported = new StateStore({ path: elsewhere })
      const item = await imported.get(['a'], 'short')
      holds(Math.abs(Date.parse(item?.expiresAt ?? '') - Date.parse(expiresAt)) < 60_000, item?.expiresAt)
      assert.deepEqual((await imported.get(['a'], 'other'))?.value, { token: secret })
      await imported.put(['a'], 'other', 'changed')
      const late = exported.replace(expiresAt, '2020-01-01T00:00:00.000Z')
      const { code, stdout } = await agentContext(directory, [...words, '--json'], { input: late })
      const { skipped } = JSON.parse(stdout) as { skipped: { reason: string }[] }
      assert.deepEqual(
        [code, skipped.map(({ reason }) => reason).sort()],
        [4, ['it has expired', 'there is another value under this key']],
      )
      assert.equal((await imported.get(['a'], 'other'))?.value, 'changed')
      const [header = ''] = exported.split('\n')
      for (const wrong of [
        { kind: 'state', namespace: 'a', key: 'b', text: '1' },
        { kind: 'state', namespace: ['a'], text: '1' },
      ]) {
        const input = `${header}\n${JSON.stringify(wrong)}`
        assert.equal((await agentContext(directory, words, { input })).code, 2)
      }
    }),
  )

  test(
    'options that name places export just those',
    PATIENT,
    inDirectory(async (directory) => {
      await fill(directory)
      const kinds = async (...words: string[]): Promise<string[]> =>
        (await agentContextOk(directory, ['export', ...words]))
          .trimEnd()
          .split('\n')
          .map((line) => (JSON.parse(line) as { kind: string }).kind)
      const { dir, history, state } = placesIn(directory)
      assert.deepEqual([...new Set(await kinds('--dir', dir))], ['header', 'context'])
      assert.deepEqual(await kinds('--state', state), ['header', 'state', 'state'])
      assert.deepEqual([...new Set(await kinds('--history', history))], ['header', 'entry'])
    }),
  )

  test(
    'import takes secrets out',
    PATIENT,
    inDirectory(async (directory) => {
      const places = placesIn(directory)
      const manager = new ContextManager({ contextDir: places.dir, redaction: false })
      await manager.saveContext('env', {}, `token ${secret}`)
      await manager.close()
      const history = new ContextHistory({ path: places.history, redaction: false })
      await history.append({ toolName: 'env', result: secret })
      await history.close()
      const store = new ContextStore({ agent: 'me', path: places.store, redaction: false })
      await store.write({ type: 'finding', slug: 'x', content: `token ${secret}` })
      await store.close()
      const input = await agentContextOk(directory, ['export'])
      holds(input.includes(secret))
      const target = join(directory, 'elsewhere')
      mkdirSync(target)
      const report = await agentContextJson<{ imported: object }>(
        directory,
        ['import', '-', ...placesElsewhere(target)],
        { input },
      )
      assert.deepEqual(report.imported, { contexts: 1, entries: 1, storeEntries: 1, memory: 0, state: 0 })
      const imported = Object.values(contentsOf(target))
      holds(imported.length > 0 && !imported.some((text) => text.includes(secret)), 'the secret was imported')
    }),
  )

  test(
    'import never replaces a file and never leaves its places',
    PATIENT,
    inDirectory(async (directory) => {
      await fill(directory)
      const exported = await agentContextOk(directory, ['export'])
      const [name = ''] = contextsIn(placesIn(directory).dir)
      const path = join(placesIn(directory).dir, name)
      writeFileSync(path, readFileSync(path, 'utf8').replace('"args"', '"args" '))
      // Beside a database are what its connections share, and what the last of them removes.
      const contents = (): unknown =>
        Object.entries(contentsOf(directory)).filter(([name]) => !/\.db-(?:wal|shm)$/.test(name))
      const before = contents()
      const conflict = await agentContext(directory, ['import', '-', '--json'], { input: exported })
      assert.equal(conflict.code, 4)
      assert.deepEqual(contents(), before)
      const header = exported.split('\n')[0] ?? ''
      const hostile = [
        { kind: 'context', name: '../../escape_0123456789ab_1_1_0123456789abcdef.json', text: '{}' },
        { kind: 'context', name: 'not-a-record_0123456789ab_1_1_0123456789abcdef.json', text: '{"a":1}' },
        { kind: 'storeEntry', path: '../escape.md', text: 'x' },
        { kind: 'storeEntry', path: '/tmp/x/escape.md', text: 'x' },
        { kind: 'storeEntry', path: 'me/.hidden.md', text: 'x' },
        { kind: 'memory', name: 'memory.json.lock', text: 'x' },
        { kind: 'entry', text: 'no entry' },
      ]
      const input = [header, ...hostile.map((line) => JSON.stringify(line))].join('\n')
      const { code, stdout } = await agentContext(directory, ['import', '-', '--json'], { input })
      assert.equal(code, 4)
      assert.equal((JSON.parse(stdout) as { skipped: unknown[] }).skipped.length, hostile.length)
      assert.deepEqual(contents(), before)
      for (const broken of [
        '',
        'x',
        '{"kind":"header","format":"other"}',
        header.replace('"version":1', '"version":2'),
      ]) {
        assert.equal((await agentContext(directory, ['import', '-'], { input: broken })).code, 2)
      }
    }),
  )
})

describe('verify and doctor', () => {
  test(
    'verify names what is damaged',
    PATIENT,
    inDirectory(async (directory) => {
      await fill(directory)
      interface Report {
        isWhole: boolean
        items: { place: string; problems: { path: string }[] }[]
      }
      rmSync(join(placesIn(directory).store), { recursive: true })
      const whole = await agentContextJson<Report>(directory, ['verify'])
      assert.deepEqual([schemaProblems(whole, 'verify'), whole.isWhole], [[], true])
      const { dir, history } = placesIn(directory)
      const [name = ''] = contextsIn(dir)
      const text = readFileSync(join(dir, name), 'utf8')
      writeFileSync(join(dir, name), text.slice(0, -3))
      writeFileSync(history, `${readFileSync(history, 'utf8')}broken\n`)
      const { code, stdout } = await agentContext(directory, ['verify', '--json'])
      const damaged = JSON.parse(stdout) as Report
      assert.deepEqual([code, damaged.isWhole], [1, false])
      assert.deepEqual(
        damaged.items.map(({ place, problems }) => [place, problems.length]),
        [
          ['contexts', 1],
          ['history', 1],
          ['store', 0],
          ['memory', 0],
          ['state', 0],
        ],
      )
    }),
  )

  interface Diagnosis {
    isHealthy: boolean
    items: { name: string; status: string; message: string; remedy?: string }[]
  }

  async function diagnose(directory: string, words: readonly string[] = [], environment = {}): Promise<Diagnosis> {
    const { stdout, stderr } = await agentContext(directory, ['doctor', '--json', ...words], { environment })
    holds(stdout !== '', stderr)
    const diagnosis = JSON.parse(stdout) as Diagnosis
    assert.deepEqual(schemaProblems(diagnosis, 'doctor'), [])
    for (const { status, remedy, message } of diagnosis.items) {
      assert.equal(remedy === undefined, status === 'ok', message)
    }
    return diagnosis
  }

  test(
    'a working set-up is healthy, and doctor leaves nothing behind',
    PATIENT,
    inDirectory(async (directory) => {
      chmodSync(directory, 0o700)
      const { isHealthy, items } = await diagnose(directory)
      assert.equal(isHealthy, true, JSON.stringify(items))
      assert.deepEqual(contentsOf(directory), {})
      await fill(directory)
      const before = contentsOf(directory)
      assert.equal((await diagnose(directory)).isHealthy, true)
      assert.deepEqual(contentsOf(directory), before)
    }),
  )

  test(
    'a file in place of a directory, a memory of a newer version and open permissions are named with a remedy',
    { ...PATIENT, skip: process.platform === 'win32' },
    inDirectory(async (directory) => {
      await fill(directory)
      const { dir, memory } = placesIn(directory)
      chmodSync(dir, 0o755)
      const [hash = ''] = execFileSync('ls', [join(memory, 'repos')], { encoding: 'utf8' }).split('\n')
      writeFileSync(join(memory, 'repos', hash, 'memory.json'), '{"version":99,"conventions":7}')
      writeFileSync(join(directory, 'file'), '')
      const { isHealthy, items } = await diagnose(directory, ['--store', join(directory, 'file', 'store')])
      assert.equal(isHealthy, false)
      const statuses = new Map(items.filter(({ status }) => status !== 'ok').map(({ name, status }) => [name, status]))
      assert.deepEqual(Object.fromEntries(statuses), { contexts: 'warning', store: 'error', memory: 'error' })
      const remedyOf = (place: string): string =>
        items.find(({ name, remedy }) => name === place && remedy)?.remedy ?? ''
      holds(remedyOf('contexts').includes('chmod 700'))
      holds(remedyOf('store').includes('file'), remedyOf('store'))
      holds(remedyOf('memory').includes('newer version'), remedyOf('memory'))
    }),
  )

  test(
    'a missing addon is named with a remedy',
    { ...PATIENT, skip: process.versions['bun'] !== undefined || process.versions['deno'] !== undefined },
    inDirectory(async (directory) => {
      const copy = join(directory, 'package')
      mkdirSync(copy)
      for (const name of ['dist', 'package.json', 'native.cjs']) {
        cpSync(join(root, name), join(copy, name), { recursive: true })
      }
      const { status, stdout } = spawnSync(
        process.execPath,
        [join(copy, 'dist', 'cli', 'agent-context.js'), 'doctor', '--json'],
        {
          env: environmentIn(directory),
          cwd: directory,
          encoding: 'utf8',
        },
      )
      const { items } = JSON.parse(stdout) as Diagnosis
      assert.equal(status, 1)
      const addon = items.find(({ name }) => name === 'addon')
      assert.equal(addon?.status, 'error')
      holds(addon?.remedy?.includes('install'), JSON.stringify(addon))
    }),
  )
})

describe('redact', () => {
  test(
    'gives what the library gives, byte for byte',
    PATIENT,
    inDirectory(async (directory) => {
      const texts = [
        '',
        'nothing here',
        `token=${secret}\nAuthorization: Bearer ${secret}\n`,
        `{"password":"${secret}","a":[1.0,"${secret}"]}`,
        `\ufeffé ${secret} \u2028 end`,
      ]
      for (const input of texts) {
        assert.equal(await agentContextOk(directory, ['redact'], { input }), redact(input, { environment: false }).text)
        const masked = redact(input, { environment: false, replacement: 'mask' }).text
        assert.equal(await agentContextOk(directory, ['redact', '--mask'], { input }), masked)
      }
    }),
  )

  test(
    'a long text with secrets everywhere is redacted as the library does it at once',
    PATIENT,
    inDirectory(async (directory) => {
      const key = [
        '-----BEGIN PRIVATE KEY-----',
        ...Array.from({ length: 24 }, () => 'MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7'),
        '-----END PRIVATE KEY-----',
      ].join('\n')
      let input = ''
      for (let line = 0; input.length < 9 * 1024 * 1024; line++) {
        input +=
          line % 500 === 0
            ? `${key}\n`
            : line % 50 === 0
              ? `token=${secret}\n`
              : `line ${line} of a log with nothing in it but words\n`
      }
      const expected = redact(input, { environment: false }).text
      const redacted = await agentContextOk(directory, ['redact'], { input })
      holds(redacted === expected, 'the parts do not add up to the whole')
      holds(!redacted.includes(secret))
    }),
  )

  test(
    'bytes that are no UTF-8 go through, and secrets beside them do not',
    PATIENT,
    inDirectory(async (directory) => {
      const input = Buffer.concat([
        Buffer.from([0xff, 0xc3, 0x28, 10]),
        Buffer.from(`token=${secret}\n`),
        Buffer.from([0xe2, 0x82]),
      ])
      const { stdout } = spawnSync(
        process.execPath,
        ['--no-warnings', join(root, 'dist/cli/agent-context.js'), 'redact'],
        {
          input,
          env: environmentIn(directory),
        },
      )
      const label = redact(`token=${secret}\n`, { environment: false }).text
      assert.deepEqual([...stdout], [0xff, 0xc3, 0x28, 10, ...Buffer.from(label), 0xe2, 0x82])
    }),
  )

  test(
    '--check prints nothing and ends with 1, --report counts by rule',
    PATIENT,
    inDirectory(async (directory) => {
      const found = await agentContext(directory, ['redact', '--check'], { input: `token=${secret}` })
      assert.deepEqual([found.code, found.stdout], [1, ''])
      assert.equal((await agentContext(directory, ['redact', '--check'], { input: 'nothing' })).code, 0)
      const { stderr } = await agentContext(directory, ['redact', '--report'], { input: `token=${secret}` })
      holds(/^[\w-]+: 1\n1 secret\n$/.test(stderr), stderr)
    }),
  )
})

describe('completions and manual page', () => {
  test('every shell knows every command and option', PATIENT, async () => {
    for (const shell of ['bash', 'zsh', 'fish', 'powershell']) {
      const script = await agentContextOk('/', ['completion', shell])
      for (const row of COMMANDS) {
        for (const word of row.name.split(' ')) {
          holds(script.includes(word), `${shell}: ${word}`)
        }
        for (const { long } of optionsOf(row)) {
          holds(script.includes(shell === 'fish' ? long.slice(2) : long), `${shell}: ${row.name} ${long}`)
        }
      }
    }
  })

  for (const [shell, parameters] of [
    ['bash', ['-n']],
    ['zsh', ['-n']],
    ['fish', ['--no-execute']],
  ] as const) {
    const isThere = spawnSync(shell, ['--version']).error === undefined
    test(
      `${shell} parses its completions`,
      { ...PATIENT, skip: !isThere },
      inDirectory(async (directory) => {
        const file = join(directory, 'completion')
        writeFileSync(file, await agentContextOk('/', ['completion', shell]))
        const { status, stderr } = spawnSync(shell, [...parameters, file], { encoding: 'utf8' })
        assert.deepEqual([status, stderr], [0, ''])
      }),
    )
  }

  test('bash completes commands, options and values', {
    ...PATIENT,
    skip: spawnSync('bash', ['--version']).error !== undefined,
  }, async () => {
    const script = await agentContextOk('/', ['completion', 'bash'])
    const complete = (...words: string[]): string[] => {
      const text = `${script}\nCOMP_WORDS=(agent-context ${words.map((word) => `'${word}'`).join(' ')})\nCOMP_CWORD=${words.length}\n_agent_context\nprintf '%s\\n' "\${COMPREPLY[@]}"`
      return execFileSync('bash', ['-c', text], { encoding: 'utf8' }).split('\n').filter(Boolean)
    }
    assert.deepEqual(complete('li'), ['list'])
    assert.deepEqual(complete('history', 't'), ['tail'])
    assert.deepEqual(complete('history', 'tail', '--fol'), ['--follow'])
    assert.deepEqual(complete('stats', '--by', ''), ['tool', 'session', 'day'])
    assert.deepEqual(complete('list', '--sin'), ['--since'])
    assert.deepEqual(complete('completion', 'f'), ['fish'])
  })

  test('the manual page has no errors and every command', {
    ...PATIENT,
    skip: spawnSync('groff', ['--version']).error !== undefined,
  }, async () => {
    const page = await agentContextOk('/', ['help', '--man'])
    const { stdout, stderr } = spawnSync('groff', ['-man', '-Tutf8', '-ww'], { input: page, encoding: 'utf8' })
    assert.equal(stderr, '')
    for (const { name } of COMMANDS) {
      holds(stdout.includes(name.split(' ')[0] ?? ''), name)
    }
  })
})
