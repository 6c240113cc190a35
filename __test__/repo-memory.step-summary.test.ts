/** `summariseStep`: what happened in a step, as short Markdown. */

import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { describe, it } from 'node:test'
import { type StepSummary, summariseStep } from '../dist/index.js'
import { preview } from '../lib/repo/preview.ts'
import { wrong } from './support/fixtures.ts'
import { memoryIn } from './support/memories.ts'
import { holds, inDirectory } from './support/processes.ts'

const bytes = (text: string): number => Buffer.byteLength(text)
const CIRCULAR: { self?: unknown; n: number } = { n: 1 }
CIRCULAR.self = CIRCULAR

const CASES: [name: string, step: StepSummary, text: string][] = [
  ['nothing but what happened', { happened: ' Built it. \n' }, 'Built it.'],
  [
    'all of it',
    { happened: 'Split the parser.', outputs: ['src/parser.ts', 'src/printer.ts'], followUps: ['Document it'] },
    'Split the parser.\n\nOutputs:\n- src/parser.ts\n- src/printer.ts\n\nFollow-ups:\n- Document it',
  ],
  ['empty lists', { happened: 'x', outputs: [], followUps: [] }, 'x'],
  ['empty items', { happened: 'x', outputs: ['', ' \n '], followUps: ['', 'do it'] }, 'x\n\nFollow-ups:\n- do it'],
  ['an empty object', { happened: 'x', outputs: {} }, 'x'],
  [
    'items of several lines',
    { happened: 'one\ntwo', outputs: ['a\nb\r\n\n  c  \u2028# d'] },
    'one\ntwo\n\nOutputs:\n- a\n  b\n    c\n  # d',
  ],
  [
    'values by their names',
    {
      happened: 'x',
      outputs: {
        files: ['a', 'b'],
        count: 3,
        isDone: true,
        nothing: null,
        absent: undefined,
        text: 'as it\nis',
        big: 10n,
        when: new Date(0),
        data: new Uint8Array(1_000_000),
        circular: CIRCULAR,
        deep: { a: [{ b: () => 1, c: Number.NaN, d: Symbol('s') }, undefined] },
      },
    },
    [
      'x\n\nOutputs:',
      '- files: ["a","b"]',
      '- count: 3',
      '- isDone: true',
      '- nothing: null',
      '- text: as it',
      '  is',
      '- big: "[BigInt 10]"',
      '- when: "1970-01-01T00:00:00.000Z"',
      '- data: "[1000000 bytes]"',
      '- circular: {"n":1,"self":"[Circular]"}',
      '- deep: {"a":[{"c":null},null]}',
    ].join('\n'),
  ],
  ['halves of characters', { happened: 'a\ud800', outputs: ['\udc00b'] }, 'a\ufffd\n\nOutputs:\n- \ufffdb'],
]

describe('summariseStep()', () => {
  for (const [name, step, text] of CASES) {
    it(`takes ${name}`, () => {
      assert.equal(summariseStep(step), text)
      assert.equal(summariseStep(step), text, 'the same again')
    })
  }

  it(
    'gives at most 64 KiB, which appendSummary takes',
    inDirectory(async (root) => {
      const memory = await memoryIn(root)
      const long = 'word '.repeat(20_000)
      const cases: StepSummary[] = [
        { happened: long },
        { happened: 'é'.repeat(60_000) },
        { happened: '🦀'.repeat(40_000) },
        { happened: 'x', outputs: Array.from({ length: 100_000 }, (_, number) => `output ${number}`) },
        { happened: 'x', outputs: { one: long, other: 'é'.repeat(100_000) }, followUps: [long] },
      ]
      for (const step of cases) {
        const text = summariseStep(step)
        holds(bytes(text) <= 65_536 && bytes(text) > 65_000, `${bytes(text)} bytes`)
        holds(text.isWellFormed() && text.endsWith(' […]'), text.slice(-20))
        assert.equal((await memory.appendSummary('r', 's', text)).summary, text)
      }
      const exact = 'x'.repeat(65_536)
      assert.equal(summariseStep({ happened: exact }), exact)
      assert.equal(bytes(summariseStep({ happened: `${exact}x` })), 65_536)
    }),
  )

  it('shows the first 2000 characters of a value', () => {
    const [, shown = ''] = /^x\n\nOutputs:\n- rows: ([\s\S]*)$/.exec(
      summariseStep({ happened: 'x', outputs: { rows: Array.from({ length: 5000 }, (_, n) => n) } }),
    ) as RegExpExecArray
    holds(shown.length <= 2000 && shown.length > 1900, `${shown.length} characters`)
    holds(shown.startsWith('[0,1,2,3,') && shown.endsWith(' […]'), shown.slice(-20))
  })
})

describe('preview()', () => {
  it('is JSON where the value is short', () => {
    const twice = { a: 1 }
    for (const value of [
      1,
      'x',
      null,
      true,
      [],
      {},
      [[], {}],
      { a: { b: [1, 'é', null] } },
      [twice, twice],
      { toJSON: () => ({ a: 1 }) },
    ]) {
      assert.equal(preview(value, 1000), JSON.stringify(value))
    }
  })

  it('looks at no more than it shows', () => {
    let reads = 0
    const counted = Array.from({ length: 10_000 }, () => ({
      get row() {
        reads++
        return 'x'.repeat(50)
      },
    }))
    const text = preview(counted, 1000)
    holds(text.length >= 1000 && text.length < 1200, `${text.length} characters`)
    holds(reads < 50, `${reads} reads`)
    holds(preview('x'.repeat(100_000_000), 100).length < 110)
  })

  it('takes anything', () => {
    let nested: unknown = 'core'
    for (let level = 0; level < 100_000; level++) {
      nested = [nested]
    }
    const hostile = new Proxy(
      {},
      {
        ownKeys() {
          throw new Error('no keys')
        },
      },
    )
    const throwing = {
      get a() {
        throw new Error('no a')
      },
      b: 1,
    }
    const fails = (): never => {
      throw new Error('no JSON')
    }
    const cases: [value: unknown, text: RegExp][] = [
      [nested, /^\[{100}"\[Too deep\]"\]{100}$/],
      [hostile, /^\{\}$/],
      [throwing, /^\{"a":"\[Throws: no a\]","b":1\}$/],
      [{ toJSON: fails }, /^"\[Unreadable\]"$/],
      [undefined, /^null$/],
      [() => 1, /^null$/],
      [Buffer.alloc(5), /^"\[5 bytes\]"$/],
      [new ArrayBuffer(5), /^"\[5 bytes\]"$/],
      [wrong(Object.create(null)), /^\{\}$/],
      [new Map([[1, 2]]), /^\{\}$/],
    ]
    for (const [value, text] of cases) {
      assert.match(preview(value, 1000), text)
    }
  })
})
