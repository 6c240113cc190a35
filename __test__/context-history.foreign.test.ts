/** Files that other programs wrote, and that change while they are used. */

import assert from 'node:assert/strict'
import { appendFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, test } from 'node:test'
import { type ContextEntry, ContextHistory } from '../dist/index.js'
import { debugLog, inDirectory, only } from './support/fixtures.ts'
import { holds } from './support/processes.ts'

/** The specification's own example, and one as the Python program it describes would write it. */
const SPECIFIED = [
  '{"tool_name":"grep","params":{"pattern":"auth"},"result":{"matches":15},"success":true,"summary":"Searched for auth","timestamp":"2025-12-18T10:30:00Z","id":"..."}',
  '{"tool_name": "read_file", "params": {"path": "src/auth.py"}, "result": {"content": "..."}, "success": true, "summary": "Read auth module", "timestamp": "2025-12-18T10:31:00.123456", "id": "5f0c"}',
]

/** A test body with a history over a file with this content. */
function withContent(content: string | Buffer, body: (history: ContextHistory) => Promise<void>): () => Promise<void> {
  return () =>
    inDirectory(async (directory) => {
      const path = join(directory, '.wink', 'context.jsonl')
      mkdirSync(dirname(path))
      writeFileSync(path, content)
      const history = new ContextHistory({ path })
      await body(history)
      await history.close()
    })
}

const toolNames = (entries: readonly ContextEntry[]): string[] => entries.map(({ toolName }) => toolName)

describe('a file of another program', () => {
  test(
    'is read as it stands, and appended to',
    withContent(SPECIFIED.map((line) => `${line}\n`).join(''), async (history) => {
      const [grep, readFile] = await history.read()
      assert.deepEqual(grep, {
        id: '...',
        toolName: 'grep',
        params: { pattern: 'auth' },
        result: { matches: 15 },
        success: true,
        summary: 'Searched for auth',
        timestamp: '2025-12-18T10:30:00Z',
      })
      assert.deepEqual([readFile?.toolName, readFile?.timestamp], ['read_file', '2025-12-18T10:31:00.123456'])
      await history.append({ toolName: 'ours' })
      const lines = readFileSync(history.path, 'utf8').split('\n')
      assert.deepEqual(lines.slice(0, 2), SPECIFIED)
      assert.equal(lines.length, 4)
      assert.deepEqual(toolNames(await history.read()), ['grep', 'read_file', 'ours'])
    }),
  )

  test(
    'may spell things its own way: byte-order mark, CRLF, blank lines, spaces, other order, no last newline',
    withContent(
      '\ufeff{"tool_name":"a"}\r\n\r\n \n  {"id":"x","tool_name":"b"}  \r\n{"tool_name":"c\\u00e9"}',
      async (history) => {
        assert.deepEqual(toolNames(await history.read()), ['a', 'b', 'cé'])
        await history.append({ toolName: 'd' })
        assert.deepEqual(toolNames(await history.read()), ['a', 'b', 'cé', 'd'])
      },
    ),
  )

  test(
    'may lack everything but the name: defaults, a stable id, no time',
    withContent('{"tool_name":"a"}\n{"tool_name":"b","cost":1}\n', async (history) => {
      const [a, b] = await history.read()
      holds(a !== undefined && b !== undefined)
      const { id, ...rest } = a
      assert.deepEqual(rest, {
        toolName: 'a',
        params: null,
        result: null,
        success: true,
        summary: null,
        timestamp: null,
      })
      assert.equal(b['cost'], 1)
      holds(id !== '' && id !== b.id, 'ids of their own')
      assert.deepEqual(await new ContextHistory({ path: history.path }).read(), [a, b])
      assert.deepEqual(await history.search({ since: 0 }), [], 'no time, no match')
    }),
  )

  test(
    'an entry without a time that is appended again gets one',
    withContent('{"tool_name":"a","cost":1}\n', async (history) => {
      const entry = only(await history.read())
      const again = await history.append(entry)
      assert.deepEqual({ ...again, timestamp: null }, entry)
      holds(Date.parse(again.timestamp ?? '') > 1e12, 'now')
    }),
  )

  test(
    'times without a zone mean UTC, in the file as in the filter',
    withContent(
      '{"tool_name":"naive","timestamp":"2025-12-18T10:30:00"}\n{"tool_name":"zoned","timestamp":"2025-12-18T11:30:00+01:00"}\n',
      async (history) => {
        for (const time of ['2025-12-18T10:30:00', '2025-12-18T10:30Z', '2025-12-18 12:30+02']) {
          assert.deepEqual(toolNames(await history.search({ since: time, until: time })), ['naive', 'zoned'], time)
        }
        assert.deepEqual(await history.search({ since: '2025-12-18T10:30:00.001' }), [])
      },
    ),
  )

  test(
    'values survive to the last digit and character',
    withContent('{"tool_name":"a","result":{"n":1.50,"e":1e2,"s":"\\ud800","deep":[[[]]]}}\n', async (history) => {
      assert.deepEqual(only(await history.read()).result, { n: 1.5, e: 100, s: '\ud800', deep: [[[]]] })
    }),
  )
})

describe('what is no entry', () => {
  const bad = ['no JSON', '{"tool_name":"cut', '{"toolName":"wrong key"}', '[]', '42', 'null', '{"tool_name":1}']

  test(
    'is skipped and stays where it is',
    withContent(`{"tool_name":"a"}\n${bad.join('\n')}\n{"tool_name":"b"}\n`, async (history) => {
      const before = readFileSync(history.path, 'utf8')
      assert.deepEqual(toolNames(await history.read(2)), ['a', 'b'])
      assert.deepEqual(toolNames(await history.search({ text: '' })), ['a', 'b'])
      const report = await history.verify()
      assert.deepEqual([report.entries, report.badLines, report.problems.length], [2, bad.length, bad.length])
      assert.deepEqual(
        report.problems.map(({ line }) => line),
        bad.map((_, index) => index + 2),
      )
      assert.equal(readFileSync(history.path, 'utf8'), before)
    }),
  )

  test(
    'is told to onDebug',
    withContent('no JSON\n{"tool_name":"a"}\n', async (history) => {
      const log = debugLog()
      await new ContextHistory({ path: history.path, onDebug: log }).read()
      assert.equal(log.messages.length, 2, log.messages.join('\n'))
    }),
  )

  test(
    'goes with the entries around it when they are compacted',
    withContent('no JSON\n{"tool_name":"a"}\nno JSON\n{"tool_name":"b"}\n', async (history) => {
      const report = await history.compact({ keepLast: 1 })
      assert.deepEqual([report.keptEntries, report.droppedEntries, report.droppedBadLines], [1, 1, 2])
      assert.equal(readFileSync(history.path, 'utf8'), '{"tool_name":"b"}\n')
    }),
  )

  test(
    'at the end, left by a crash, does not take the next entry with it',
    withContent('{"tool_name":"a"}\n{"tool_name":"b","res', async (history) => {
      assert.deepEqual(toolNames(await history.read()), ['a'])
      await history.append({ toolName: 'c' })
      assert.deepEqual(toolNames(await history.read()), ['a', 'c'])
      assert.equal((await history.verify()).badLines, 1)
    }),
  )

  test(
    'may be bytes that are no text',
    withContent(
      Buffer.concat([Buffer.from([0xff, 0xfe, 0, 10]), Buffer.alloc(5000), Buffer.from('\n{"tool_name":"a"}\n')]),
      async (history) => assert.deepEqual(toolNames(await history.read()), ['a']),
    ),
  )
})

describe('a file that changes', () => {
  test(
    'is read as it is now: others append, cut, replace and remove it',
    withContent('{"tool_name":"a"}\n', async (history) => {
      assert.deepEqual(toolNames(await history.search({ success: true })), ['a'])
      appendFileSync(history.path, '{"tool_name":"b"}\n')
      assert.deepEqual(toolNames(await history.search({ success: true })), ['a', 'b'])
      writeFileSync(history.path, '{"tool_name":"c"}\n')
      assert.deepEqual(toolNames(await history.search({ success: true })), ['c'])
      assert.deepEqual(toolNames(await history.read()), ['c'])
      rmSync(history.path)
      assert.deepEqual(await history.read(), [])
      assert.deepEqual(await history.search({ success: true }), [])
      await history.append({ toolName: 'd' })
      assert.deepEqual(toolNames(await history.read()), ['d'])
    }),
  )
})
