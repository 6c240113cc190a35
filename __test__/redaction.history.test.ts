/** What a history writes passed redaction. */

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import {
  autoRecord,
  type ContextEntryInput,
  ContextHistory,
  type ContextHistoryOptions,
  createToolRecorder,
  type RedactionReport,
  readContextTool,
} from '../dist/index.js'
import { debugLog, inDirectory, MemoryFileSystem, only, RenamingFileSystem, rejectsWith } from './support/fixtures.ts'
import { Canaries, everythingBelow, everythingTold, randomText } from './support/secrets.ts'

const LABEL = /\[REDACTED:[\w.-]+\]/

type Place = (body: (options: ContextHistoryOptions, everything: () => string) => Promise<void>) => Promise<void>

const PLACES: Record<string, Place> = {
  'the local disk': (body) =>
    inDirectory((directory) => body({ path: join(directory, 'h.jsonl') }, () => everythingBelow(directory))),
  'the local disk, durable': (body) =>
    inDirectory((directory) =>
      body({ path: join(directory, 'h.jsonl'), durability: 'full' }, () => everythingBelow(directory)),
    ),
  'an injected file system': async (body) => {
    const fileSystem = new MemoryFileSystem()
    await body({ path: '/history/h.jsonl', fileSystem }, () => everythingTold(fileSystem))
  },
  'an injected file system that renames': async (body) => {
    const fileSystem = new RenamingFileSystem()
    await body({ path: '/history/h.jsonl', fileSystem }, () => everythingTold(fileSystem))
  },
}

/** An entry with a secret in every part of it. */
function entry(canaries: Canaries) {
  const secret = () => canaries.token()
  return {
    toolName: `tool ${secret()}`,
    params: { path: secret(), deep: [[secret()]], password: canaries.plant(`Aa1${randomText(12)}`) },
    result: { text: `line\n${secret()}\nend`, tokens: 12, embedded: JSON.stringify([secret()]) },
    summary: `summed up ${secret()}`,
    id: `id ${secret()}`,
    extra: { of: [secret()] },
  } satisfies ContextEntryInput
}

for (const [place, keep] of Object.entries(PLACES)) {
  describe(`a secret on its way to a history on ${place}`, () => {
    it('does not arrive, and is in nothing that comes back', () =>
      keep(async (options, everything) => {
        const canaries = new Canaries()
        const log = debugLog()
        const reports: RedactionReport[] = []
        const history = new ContextHistory({
          ...options,
          onDebug: log,
          redaction: { onRedaction: (report) => reports.push(report) },
        })
        const given = entry(canaries)
        const before = structuredClone(given)
        const told: string[] = []
        const appended = await history.append(given).then((entry) => {
          told.push(`settled after ${reports.length}`)
          return entry
        })
        assert.deepEqual(told, ['settled after 1'])
        assert.deepEqual(given, before, 'what was passed stays')
        const decision = await history.recordDecision(`because of ${canaries.token()}`, { why: canaries.token() })
        const recorder = createToolRecorder(history)
        recorder.onToolStart({ traceId: 't', spanId: 's' }, 'tool', { key: canaries.token() })
        recorder.onToolEnd({ traceId: 't', spanId: 's' }, 'tool', {
          success: false,
          error: canaries.token(),
          message: canaries.token(),
        })
        await recorder.flush()
        const observe = autoRecord(history)
        observe({ name: canaries.token(), params: canaries.token(), result: new Error(canaries.token()) })
        await observe.flush()

        const back = {
          file: everything(),
          appended: JSON.stringify([appended, decision]),
          read: JSON.stringify(await history.read()),
          found: JSON.stringify(await history.search({ text: 'tool' })),
          ranked: JSON.stringify(await history.search({ text: 'line', ranked: true })),
          tool: JSON.stringify(await readContextTool(history).execute()),
          reports: JSON.stringify(reports),
          log: JSON.stringify(log.entries),
        }
        for (const [where, text] of Object.entries(back)) {
          canaries.assertAbsent(text, where)
          if (where !== 'log') {
            assert.match(text, where === 'reports' ? /"rule":"github-token"/ : LABEL, where)
          }
        }
        assert.deepEqual((await history.read())[0], appended, 'what append gives is what is read')
        assert.equal((appended.result as { tokens: number }).tokens, 12, 'key rules replace strings only')
        assert.deepEqual(Object.keys(appended.params as object), ['path', 'deep', 'password'])
        assert.equal(reports.length, 4)
        const [first] = reports
        assert.deepEqual(
          { ...first, findings: [] },
          { kind: 'entry', toolName: appended.toolName, filepath: history.path, entryId: appended.id, findings: [] },
        )
        const found = await history.search({ toolName: given.toolName })
        assert.equal(only(found).id, appended.id, 'it is found by the name that was given')
      }))

    it('is not in the summary of a compaction either', () =>
      keep(async (options, everything) => {
        const canaries = new Canaries()
        const reports: RedactionReport[] = []
        const redaction = { onRedaction: (report: RedactionReport) => void reports.push(report) }
        const history = new ContextHistory({ ...options, redaction })
        await history.append({ toolName: 'a' })
        await history.append({ toolName: 'b' })
        const { summaryEntry } = await history.compact({ keepLast: 1, summarise: () => `folded ${canaries.token()}` })
        canaries.assertAbsent(everything(), 'the file')
        assert.match(String(summaryEntry?.summary), /^folded \[REDACTED:/)
        assert.deepEqual((await history.read())[0], summaryEntry)
        assert.deepEqual([only(reports).toolName, only(reports).entryId], ['summary', summaryEntry?.id])
        const { summaryEntry: plain } = await history.compact({ keepLast: 1, summarise: () => 'nothing secret' })
        assert.equal(plain?.summary, 'nothing secret')
        assert.equal(reports.length, 1)
      }))

    it('arrives when redaction is switched off', () =>
      keep(async (options, everything) => {
        const canaries = new Canaries()
        const history = new ContextHistory({ ...options, redaction: false })
        const given = entry(canaries)
        const appended = await history.append(given)
        assert.equal(appended.params, given.params)
        assert.doesNotMatch(everything(), LABEL)
        canaries.assertPresent(everything(), 'the file')
      }))

    it('is nowhere when it cannot be told, and the call says so', () =>
      keep(async (options, everything) => {
        const canaries = new Canaries()
        const history = new ContextHistory(options)
        await history.append({ toolName: 'before' })
        const written = everything()
        const params = { a: canaries.token() }
        const { stringify } = JSON
        // What is no JSON cannot be redacted.
        JSON.stringify = ((value: unknown, ...rest: []) =>
          value === params ? '{"a":[' : stringify(value, ...rest)) as typeof JSON.stringify
        try {
          await rejectsWith(() => history.append({ toolName: 'tool', params }), 'ERR_CONTEXT_REDACTION')
        } finally {
          JSON.stringify = stringify
        }
        assert.equal(everything(), written, 'nothing was written')
        await history.append({ toolName: 'after', params })
        assert.deepEqual(
          (await history.read()).map(({ toolName }) => toolName),
          ['before', 'after'],
        )
      }))
  })
}

describe('an entry without secrets', () => {
  it('comes back with the very values given', () =>
    inDirectory(async (directory) => {
      const history = new ContextHistory({ path: join(directory, 'h.jsonl') })
      const given = { toolName: 'tool', params: { a: 1 }, result: [new Date(0)], extra: { b: 2 } }
      const appended = await history.append(given)
      assert.equal(appended.params, given.params)
      assert.equal(appended.result, given.result)
      assert.equal(appended['extra'], given.extra)
    }))
})

describe('an entry that is too large', () => {
  it('is refused with a message that holds no secret', () =>
    inDirectory(async (directory) => {
      const canaries = new Canaries()
      const history = new ContextHistory({ path: join(directory, 'h.jsonl'), maxEntryBytes: 200 })
      for (const result of ['x'.repeat(300), { x: 'x'.repeat(300) }]) {
        const error = await rejectsWith(
          () => history.append({ toolName: canaries.token(), result }),
          'ERR_CONTEXT_TOO_LARGE',
          LABEL,
        )
        canaries.assertAbsent(`${error.message}${error.stack}`, 'the error')
      }
      const plain = { toolName: 't', params: { password: canaries.plant('k7#pQ2wZ') }, id: 'x', timestamp: 0 }
      const length = (await import('node:fs')).statSync(await written(join(directory, 'plain.jsonl'), plain)).size - 1
      const narrow = new ContextHistory({ path: join(directory, 'n.jsonl'), maxEntryBytes: length })
      await rejectsWith(() => narrow.append(plain), 'ERR_CONTEXT_TOO_LARGE')
    }))
})

/** The file of a history with one entry, written without redaction. */
async function written(path: string, entry: ContextEntryInput): Promise<string> {
  await new ContextHistory({ path, redaction: false }).append(entry)
  return path
}
