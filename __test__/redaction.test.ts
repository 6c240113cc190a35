/** What a manager stores passed redaction: in files and names, in memory, in everything it gives back. */

import assert from 'node:assert/strict'
import { statSync } from 'node:fs'
import { describe, it } from 'node:test'
import {
  ContextManager,
  type ContextManagerOptions,
  contextTools,
  createToolRecorder,
  type RedactionReport,
} from '../dist/index.js'
import {
  debugLog,
  filesIn,
  inDirectory,
  MemoryFileSystem,
  only,
  pointerOf,
  RenamingFileSystem,
  rejectsWith,
  throwsWith,
} from './support/fixtures.ts'
import { Canaries, everythingBelow, everythingTold, randomText } from './support/secrets.ts'

const LABEL = /\[REDACTED:[\w.-]+\]/

/** Where contexts are kept, and how to look at every byte of it. */
type Place = (body: (options: ContextManagerOptions, everything: () => string) => Promise<void>) => Promise<void>

const PLACES: Record<string, Place> = {
  'the local disk': (body) => inDirectory((contextDir) => body({ contextDir }, () => everythingBelow(contextDir))),
  'the local disk, durable': (body) =>
    inDirectory((contextDir) => body({ contextDir, durability: 'full' }, () => everythingBelow(contextDir))),
  'an injected file system': async (body) => {
    const fileSystem = new MemoryFileSystem()
    await body({ contextDir: '/contexts', fileSystem }, () => everythingTold(fileSystem))
  },
  'an injected file system that renames': async (body) => {
    const fileSystem = new RenamingFileSystem()
    await body({ contextDir: '/contexts', fileSystem }, () => everythingTold(fileSystem))
  },
}

/** A call with a secret in every part of it. */
function call(canaries: Canaries) {
  const secret = () => canaries.token()
  return {
    toolName: `tool ${secret()}`,
    args: { first: `a ${secret()}`, deep: [{ name: secret() }] },
    result: {
      text: `line\nkey ${secret()}\nend`,
      list: [secret()],
      sourceUrls: [`https://host/${secret()}`],
      count: 3,
      embedded: JSON.stringify({ inner: secret() }),
    },
    taskId: `task ${secret()}`,
    queryId: `query ${secret()}`,
    outcome: { success: false, error: `failed: ${secret()}`, message: `said ${secret()}` },
  }
}

function save(manager: ContextManager, { toolName, args, result, taskId, queryId, outcome }: ReturnType<typeof call>) {
  return manager.saveContext(toolName, args, result, taskId, queryId, outcome)
}

for (const [place, keep] of Object.entries(PLACES)) {
  describe(`a secret on its way to ${place}`, () => {
    it('does not arrive, and is in nothing that comes back', () =>
      keep(async (options, everything) => {
        const canaries = new Canaries()
        const log = debugLog()
        const described = `described ${canaries.token()}`
        const reports: RedactionReport[] = []
        const manager = new ContextManager({
          ...options,
          onDebug: log,
          describe: () => described,
          offload: { threshold: 1 },
          redaction: { onRedaction: (report) => reports.push(report) },
        })
        const given = call(canaries)
        const path = await save(manager, given)
        const other = call(canaries)
        const offloaded = await manager.offload(
          other.toolName,
          other.args,
          `${other.result.text}${'\nfiller'.repeat(300)}`,
        )
        assert.equal(offloaded.isOffloaded, true)
        const [, searchTool] = contextTools(manager)
        const back = {
          files: everything(),
          path,
          pointers: JSON.stringify(manager.getAllPointers()),
          loaded: JSON.stringify(await manager.loadContext(path)),
          slice: (await manager.readContext(path)).text,
          listed: JSON.stringify(await manager.listContexts()),
          hits: JSON.stringify(await manager.search('line key end')),
          selected: JSON.stringify(await manager.selectContexts('tool')),
          tool: JSON.stringify(await searchTool.execute({ query: 'line' })),
          placeholder: offloaded.text,
          handle: offloaded.handle ?? '',
          log: JSON.stringify(log.entries),
          reports: JSON.stringify(reports),
        }
        for (const [where, text] of Object.entries(back)) {
          canaries.assertAbsent(text, where)
        }
        for (const where of ['files', 'pointers', 'loaded', 'slice', 'listed', 'hits', 'placeholder', 'log'] as const) {
          assert.match(back[where], LABEL, where)
        }
        const context = await manager.loadContext<Record<string, unknown>>(path)
        assert.equal(context.result['count'], 3)
        assert.deepEqual(Object.keys(context.result), Object.keys(given.result))
        assert.equal(context.toolDescription.startsWith('described [REDACTED:'), true, context.toolDescription)
        assert.deepEqual(Object.keys(context.args), ['first', 'deep'])
        await manager.clear()
        canaries.assertAbsent(everything(), 'what is left')
      }))

    it('does not modify the passed values', () =>
      keep(async (options) => {
        const canaries = new Canaries()
        const manager = new ContextManager(options)
        const given = call(canaries)
        const before = structuredClone(given)
        await save(manager, given)
        assert.deepEqual(given, before)
        await manager.clear()
      }))

    it('arrives when redaction is switched off', () =>
      keep(async (options, everything) => {
        const canaries = new Canaries()
        const manager = new ContextManager({ ...options, redaction: false })
        const path = await save(manager, call(canaries))
        const loaded = await manager.loadContext(path)
        canaries.assertPresent(JSON.stringify(loaded, null, 1).replaceAll('\\"', '"'), 'what was loaded')
        assert.doesNotMatch(everything(), LABEL)
        assert.equal(manager.stats().redactions, 0)
        await manager.clear()
      }))

    it('is nowhere when it cannot be told, and the call says so', () =>
      keep(async (options, everything) => {
        const canaries = new Canaries()
        const log = debugLog()
        const manager = new ContextManager({ ...options, shouldPersist: () => true, onDebug: log })
        // The size that `shouldPersist` gets is that of JSON text made on this side.
        const result = { a: canaries.token() }
        const before = everything()
        const error = await withBrokenJson(result, () =>
          rejectsWith(() => manager.saveContext('tool', {}, result), 'ERR_CONTEXT_REDACTION'),
        )
        canaries.assertAbsent(error.message, 'the message')
        const kept = await withBrokenJson(result, () => manager.offload('tool', {}, result))
        assert.deepEqual([kept.text, kept.isOffloaded], ['{"a":[', false])
        assert.equal((kept.error as { code?: string } | undefined)?.code, 'ERR_CONTEXT_REDACTION')
        assert.equal(everything(), before, 'nothing was written')
        assert.deepEqual([manager.size, manager.stats().redactions], [0, 0])
        canaries.assertAbsent(JSON.stringify(log.entries), 'the log')
        await manager.saveContext('tool', {}, result)
        assert.equal(manager.size, 1)
        await manager.clear()
      }))
  })
}

/** A fault of the JavaScript side, the only one that shows from outside: what is no JSON cannot be redacted. */
async function withBrokenJson<T>(value: object, body: () => Promise<T>): Promise<T> {
  const { stringify } = JSON
  JSON.stringify = ((given: unknown, ...rest: []) =>
    given === value ? '{"a":[' : stringify(given, ...rest)) as typeof JSON.stringify
  try {
    return await body()
  } finally {
    JSON.stringify = stringify
  }
}

describe('outputs only in memory', () => {
  it('are redacted like those on disk, also when the budget pushes them out', () =>
    inDirectory(async (contextDir) => {
      const canaries = new Canaries()
      const manager = new ContextManager({ contextDir, persist: 'large', memoryBudget: 1000 })
      const path = await manager.saveContext('tool', {}, { key: canaries.token() })
      assert.deepEqual(filesIn(contextDir), [])
      canaries.assertAbsent(JSON.stringify(await manager.loadContext(path)), 'memory')
      await manager.saveContext('tool', {}, `${canaries.token()} ${'filler '.repeat(130)}`)
      await manager.saveContext('tool', {}, `${canaries.token()} ${'filler '.repeat(130)}`)
      assert.ok(manager.stats().spills > 0, 'nothing was pushed out')
      canaries.assertAbsent(everythingBelow(contextDir), 'the directory')
      assert.match(everythingBelow(contextDir), LABEL)
      await manager.clear()
    }))
})

describe('names of files, and handles', () => {
  it('are the same whatever the secret is: they are taken after redaction', () =>
    inDirectory(async (contextDir) => {
      const canaries = new Canaries()
      const manager = new ContextManager({ contextDir, offload: { threshold: 1 } })
      const told = []
      for (let round = 0; round < 2; round++) {
        const { filepath, handle } = await manager.offload('tool', { about: canaries.token() }, `a ${canaries.token()}`)
        told.push([/_([0-9a-f]{12})_/.exec(filepath ?? '')?.[1], handle])
      }
      assert.deepEqual(told[0], told[1])
      assert.ok(told[0]?.every((part) => part !== undefined))
      await manager.clear()
    }))
})

describe('a context whose ids hold secrets', () => {
  it('is found by the ids that were given', () =>
    inDirectory(async (contextDir) => {
      const canaries = new Canaries()
      const manager = new ContextManager({ contextDir })
      const { toolName, taskId, queryId } = {
        toolName: canaries.token(),
        taskId: canaries.token(),
        queryId: canaries.token(),
      }
      const path = await manager.saveContext(toolName, {}, 'wombats', taskId, queryId)
      await manager.saveContext('other', {}, 'wombats', 1, 'other')
      const paths = (pointers: readonly { filepath: string }[]) => pointers.map(({ filepath }) => filepath)
      assert.deepEqual(paths(manager.getPointersForQuery(queryId)), [path])
      assert.deepEqual(paths(manager.getPointersForTask(taskId)), [path])
      assert.deepEqual(paths(manager.getPointersForTask(1)).length, 1)
      assert.deepEqual(paths(manager.getLatestPointers({ toolName })), [path])
      for (const filter of [{ queryId }, { taskId }, { toolName }, { toolName: ['nobody', toolName] }]) {
        assert.deepEqual(
          paths(await manager.selectContexts('wombats', filter)),
          [path],
          JSON.stringify(Object.keys(filter)),
        )
        assert.deepEqual(paths(await manager.search('wombats', filter)), [path])
      }
      await manager.clear()
    }))
})

describe('sizes', () => {
  it('are those of what is stored', () =>
    inDirectory(async (contextDir) => {
      const canaries = new Canaries()
      const manager = new ContextManager({ contextDir })
      const path = await manager.saveContext(
        'tool',
        {},
        Array.from({ length: 50 }, () => canaries.token()),
      )
      assert.equal(pointerOf(manager, path).sizeBytes, statSync(path).size)
      await manager.clear()
    }))

  it('are compared with the bounds', () =>
    inDirectory(async (contextDir) => {
      const canaries = new Canaries()
      const asked: number[] = []
      const secrets = Array.from({ length: 50 }, () => canaries.token())
      const length = JSON.stringify(secrets).length
      const options = {
        contextDir,
        shouldPersist: (_: string, __: object, sizeBytes: number) => asked.push(sizeBytes) > 0,
      }
      const manager = new ContextManager({ ...options, retention: { maxResultBytes: length } })
      await manager.saveContext('tool', {}, secrets)
      assert.deepEqual(asked, [length], 'shouldPersist is asked about what was given')
      const narrow = new ContextManager({ ...options, retention: { maxResultBytes: length - 1 } })
      const name = canaries.token()
      const error = await rejectsWith(() => narrow.saveContext(name, {}, secrets), 'ERR_CONTEXT_TOO_LARGE', LABEL)
      canaries.assertAbsent(error.message, 'the message')
      // Their replacement is longer than the secrets.
      const short = Array.from({ length: 30 }, () => ({ password: canaries.plant(randomText(9)) }))
      const grown = new ContextManager({ contextDir, retention: { maxResultBytes: JSON.stringify(short).length } })
      await rejectsWith(() => grown.saveContext('tool', {}, short), 'ERR_CONTEXT_TOO_LARGE')
      canaries.assertAbsent(everythingBelow(contextDir), 'the directory')
      await manager.clear()
    }))
})

describe('a session id', () => {
  it('that contains a secret is refused, with only the name of the rule', () => {
    const canaries = new Canaries()
    const sessionId = `session-${canaries.token()}`
    const error = throwsWith(
      () => new ContextManager({ sessionId }),
      'ERR_CONTEXT_INVALID_ARGUMENT',
      /^sessionId .*github-token/,
    )
    canaries.assertAbsent(`${error.message}${error.stack}`, 'the error')
    assert.equal(new ContextManager({ sessionId, redaction: false }).sessionId, sessionId)
    assert.equal(new ContextManager({ sessionId: 'nightly-4711' }).sessionId, 'nightly-4711')
  })
})

describe('reports of redaction', () => {
  it('comes before the promise settles, once per output that held secrets', () =>
    inDirectory(async (contextDir) => {
      const canaries = new Canaries()
      const told: (RedactionReport | string)[] = []
      const redaction = { onRedaction: (report: RedactionReport) => void told.push(report) }
      const manager = new ContextManager({ contextDir, redaction })
      const toolName = `tool ${canaries.token()}`
      const filepath = await manager.saveContext(toolName, { a: canaries.token() }, 'nothing').then((path) => {
        told.push('settled')
        return path
      })
      await manager.saveContext('tool', {}, 'nothing')
      const findings = [{ rule: 'github-token', count: 2 }]
      assert.deepEqual(told, [
        { kind: 'context', toolName: 'tool [REDACTED:github-token]', filepath, findings },
        'settled',
      ])
      assert.equal(manager.stats().redactions, 2)
      const { handle } = await manager.offload('tool', { a: canaries.token() }, 'x'.repeat(9000))
      assert.match(handle ?? '', /^ctx_/)
      assert.equal(told.length, 3)
      assert.equal(manager.stats().redactions, 3)
      await manager.clear()
      assert.equal(manager.stats().redactions, 3, 'since the manager was made')
    }))

  it('is stored when the callback throws', () =>
    inDirectory(async (contextDir) => {
      const redaction = {
        onRedaction: () => {
          throw new Error('the report fails')
        },
      }
      const manager = new ContextManager({ contextDir, redaction })
      await manager.saveContext('tool', {}, new Canaries().token())
      assert.equal(manager.size, 1)
      await manager.clear()
    }))
})

describe('debug messages and errors', () => {
  it('show nothing secret of what callbacks throw and callers pass', () =>
    inDirectory(async (contextDir) => {
      const canaries = new Canaries()
      const log = debugLog()
      const thrower = () => {
        const error = new TypeError(`no access with ${canaries.token()}`, { cause: new Error(canaries.token()) })
        throw Object.assign(error, { code: 'E_ACCESS' })
      }
      const manager = new ContextManager({ contextDir, onDebug: log, describe: thrower, shouldPersist: thrower })
      await manager.saveContext(canaries.token(), {}, 'wombats')
      await manager.selectContexts('wombats', { selector: thrower, embed: thrower })
      await manager.loadContexts([`${contextDir}/${canaries.token()}`, canaries.token()])
      const narrow = new ContextManager({ contextDir, onDebug: log, retention: { maxResultBytes: 10 } })
      const { error } = await narrow.offload(canaries.token(), {}, 'more than ten bytes')
      const recorder = createToolRecorder(narrow)
      recorder.onToolEnd({ traceId: 't', spanId: 's' }, canaries.token(), {
        success: true,
        result: 'more than ten',
        message: '',
      })
      const flushed = await rejectsWith(() => recorder.flush(), 'ERR_CONTEXT_TOO_LARGE')
      const messages = [error, ...((flushed as unknown as AggregateError).errors as Error[])]
      for (const call of [
        () => manager.loadContext(canaries.token()),
        () => manager.saveContext('tool', canaries.token() as unknown as Record<string, unknown>, 1),
        () => manager.saveContext('tool', {}, 1, [canaries.token()] as unknown as number),
      ]) {
        messages.push(
          await call().then(
            () => new Error('resolved'),
            (thrown: Error) => thrown,
          ),
        )
      }
      for (const shown of messages) {
        canaries.assertAbsent(`${shown?.message}${shown?.stack}`, 'an error')
      }
      const shown = log.entries.map(({ message, data }) => `${message} ${showAll(data)}`).join('\n')
      canaries.assertAbsent(shown, 'the log')
      for (const word of [
        'describe failed',
        'shouldPersist failed',
        'selector failed',
        'embed failed',
        'Failed to store',
      ]) {
        assert.ok(shown.includes(word), word)
      }
      const failed = log.entries.find(({ message }) => message.startsWith('describe failed'))?.data as { error: Error }
      assert.match(failed.error.message, /^no access with \[REDACTED:/)
      assert.deepEqual([failed.error.name, (failed.error as { code?: string }).code], ['TypeError', 'E_ACCESS'])
      await manager.clear()
    }))

  it('show values without a secret unchanged, including the same error objects', () =>
    inDirectory(async (contextDir) => {
      const log = debugLog()
      const thrown = new Error('no access')
      const describe = () => {
        throw thrown
      }
      const manager = new ContextManager({ contextDir, onDebug: log, describe })
      await manager.saveContext('tool', {}, 1)
      const { data } = only(log.entries.filter(({ message }) => message.startsWith('describe failed')))
      assert.equal((data as { error: unknown }).error, thrown)
      await manager.clear()
    }))

  it('show everything when redaction is switched off', () =>
    inDirectory(async (contextDir) => {
      const canaries = new Canaries()
      const log = debugLog()
      const manager = new ContextManager({ contextDir, onDebug: log, redaction: false })
      const token = canaries.token()
      await manager.saveContext(token, {}, 1)
      canaries.assertPresent(JSON.stringify(log.entries), 'the log')
      await rejectsWith(() => manager.loadContext(token), 'ERR_CONTEXT_NOT_FOUND', new RegExp(token))
      await manager.clear()
    }))
})

/** As a logger shows it: errors with message, stack and causes. */
function showAll(value: unknown): string {
  if (value instanceof Error) {
    return `${value.message}\n${value.stack}\n${showAll(value.cause)}`
  }
  return typeof value === 'object' && value !== null ? Object.values(value).map(showAll).join('\n') : String(value)
}
