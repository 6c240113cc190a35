/** `redact`, `redactValue` and the options of redaction. */

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ContextHistory, ContextManager, type RedactionOptions, redact, redactValue } from '../dist/index.js'
import { inDirectory, MemoryFileSystem, nested, throwsWith, unwrap, wrong } from './support/fixtures.ts'
import { Canaries, randomText } from './support/secrets.ts'

describe('redact', () => {
  it('gives the text without its secrets, and how often which rule found one', () => {
    const canaries = new Canaries()
    const { text, findings } = redact(`a ${canaries.token()} b\n${canaries.token()} c`)
    assert.equal(text, 'a [REDACTED:github-token] b\n[REDACTED:github-token] c')
    assert.deepEqual(findings, [{ rule: 'github-token', count: 2 }])
  })

  it('gives back what holds no secret, and what it gave before', () => {
    for (const text of ['', 'plain', 'ümläut 😀', 'half \ud800 a character']) {
      assert.deepEqual(redact(text), { text, findings: [] })
    }
    const { text } = redact(`x ${new Canaries().token()}`)
    assert.deepEqual(redact(text), { text, findings: [] })
  })

  it('keeps halves of characters beside a secret', () => {
    assert.equal(
      redact(`\ud800 "${new Canaries().token()}" \udc00 é`).text,
      '\ud800 "[REDACTED:github-token]" \udc00 é',
    )
  })

  it('gives everything when it is switched off', () => {
    const text = new Canaries().token()
    assert.deepEqual(redact(text, false), { text, findings: [] })
  })

  it('refuses what is no text', () => {
    for (const text of [undefined, null, 1, {}, ['a']]) {
      throwsWith(() => redact(wrong(text)), 'ERR_CONTEXT_INVALID_ARGUMENT', /^text must be a string/)
    }
  })

  it('puts as many stars as there were characters with replacement: mask', () => {
    const token = new Canaries().token()
    assert.equal(redact(`a ${token} b`, { replacement: 'mask' }).text, `a ${'*'.repeat(token.length)} b`)
  })
})

describe('redactValue', () => {
  it('gives what would be loaded again', () =>
    inDirectory(async (contextDir) => {
      const canaries = new Canaries()
      const value = {
        [`key`]: canaries.token(),
        list: [undefined, new Date(0), 10n, () => {}],
        password: randomText(20),
        tokens: 5,
        text: `"${canaries.token()}"`,
      }
      const before = { ...value }
      const { value: redacted, findings } = redactValue<Record<string, unknown>>(value)
      assert.deepEqual(value, before)
      const manager = new ContextManager({ contextDir })
      const stored = await manager.loadContext(await manager.saveContext('tool', {}, value))
      assert.deepEqual(redacted, stored.result)
      assert.deepEqual(redacted['tokens'], 5)
      assert.equal(
        findings.reduce((sum, { count }) => sum + count, 0),
        3,
      )
      await manager.clear()
    }))

  it('gives a new value also where there is nothing to take out', () => {
    const value = { a: [1] }
    const { value: redacted, findings } = redactValue(value)
    assert.deepEqual(redacted, value)
    assert.notEqual(redacted, value)
    assert.deepEqual(findings, [])
    assert.deepEqual(redactValue(value, false), { value, findings: [] })
    assert.deepEqual(redactValue(undefined).value, null)
    assert.deepEqual(redactValue('plain').value, 'plain')
  })

  it('goes as deep as saveContext', () => {
    const token = new Canaries().token()
    const { value } = redactValue(nested(2000, (inner) => ({ inner, token })))
    assert.equal(unwrap(value).depth, 2000)
    assert.equal(JSON.stringify(unwrap(value).core), '"core"')
  })
})

describe('options of redaction', () => {
  const made = (redaction: unknown) => [
    () => new ContextManager({ redaction: wrong<RedactionOptions>(redaction) }),
    () => new ContextHistory({ redaction: wrong<RedactionOptions>(redaction) }),
  ]

  it('are checked by constructors, with the place of what is wrong', () => {
    const name = 'mine'
    for (const [redaction, place] of [
      ['on', 'redaction'],
      [1, 'redaction'],
      [[], 'redaction'],
      [{ patterns: 'x' }, 'redaction.patterns'],
      [{ patterns: [/x/] }, 'redaction.patterns[0].name'],
      [{ patterns: [null] }, 'redaction.patterns[0]'],
      [
        {
          patterns: [
            { name, literals: ['x'] },
            { name: '', pattern: 'x' },
          ],
        },
        'redaction.patterns[1].name',
      ],
      [{ patterns: [{ name: 'a]b', pattern: 'x' }] }, 'redaction.patterns[0].name'],
      [{ patterns: [{ name }] }, 'redaction.patterns[0].pattern'],
      [{ patterns: [{ name, pattern: '' }] }, 'redaction.patterns[0].pattern'],
      [{ patterns: [{ name, pattern: 'x', flags: 1 }] }, 'redaction.patterns[0].flags'],
      [{ patterns: [{ name, pattern: 'x', literals: ['y'] }] }, 'redaction.patterns[0].pattern'],
      [{ patterns: [{ name, literals: [] }] }, 'redaction.patterns[0].literals'],
      [{ patterns: [{ name, literals: ['x', ''] }] }, 'redaction.patterns[0].literals[1]'],
      [{ patterns: [{ name, literals: 'x' }] }, 'redaction.patterns[0].literals'],
      [{ allow: ['x', 5] }, 'redaction.allow[1]'],
      [{ allow: [''] }, 'redaction.allow[0]'],
      [{ disable: ['github-token', 'no-such-rule'] }, 'redaction.disable[1]'],
      [{ disable: 'github-token' }, 'redaction.disable'],
      [{ keys: [''] }, 'redaction.keys[0]'],
      [{ environment: 'yes' }, 'redaction.environment'],
      [{ replacement: 'stars' }, 'redaction.replacement'],
      [{ onRedaction: true }, 'redaction.onRedaction'],
    ] as const) {
      const start = new RegExp(`^${place.replace(/[.[\]]/g, '\\$&')}(?: must be|:) `)
      for (const make of made(redaction)) {
        throwsWith(make, 'ERR_CONTEXT_INVALID_ARGUMENT', start)
      }
    }
    throwsWith(() => redact('x', { keys: [''] }), 'ERR_CONTEXT_INVALID_ARGUMENT', /^options\.keys\[0\] /)
  })

  it('are absent when they are undefined or null, and on when they are true', () => {
    const token = new Canaries().token()
    for (const options of [undefined, null, true, {}, { patterns: null, keys: undefined, environment: null }]) {
      assert.match(redact(token, wrong(options)).text, /^\[REDACTED:/)
      assert.equal(made(options).map((make) => make()).length, 2)
    }
  })

  it('are read once', () => {
    let reads = 0
    const options: RedactionOptions = {
      get keys() {
        reads++
        return ['wombat']
      },
    }
    const text = `{"wombat":"${randomText(12)}"}`
    for (let round = 0; round < 3; round++) {
      assert.match(redact(text, options).text, /^\{"wombat":"\[REDACTED:/)
    }
    const fileSystem = new MemoryFileSystem()
    assert.ok(new ContextManager({ fileSystem, redaction: options }))
    assert.equal(reads, 1)
    assert.equal(redact(text).text, text, 'the default knows nothing of it')
  })

  it('add rules of the caller: expressions, their groups, and texts', () => {
    const patterns = [
      { name: 'employee', pattern: /e-\d{6}/i },
      { name: 'customer', pattern: 'c-(?<secret>\\d{8})', flags: 'i' },
      { name: 'visitor', pattern: /v-\d{4}/, flags: 'i' },
      { name: 'codename', literals: ['bluebird', 'red.fox'] },
    ]
    const { text, findings } = redact('E-123456 C-12345678 V-1234 bluebird red.fox redXfox', { patterns })
    const label = (rule: string) => `[REDACTED:${rule}]`
    assert.equal(
      text,
      `${label('employee')} C-${label('customer')} ${label('visitor')} ${label('codename')} ${label('codename')} redXfox`,
    )
    assert.deepEqual(findings.map(({ rule, count }) => `${count} ${rule}`).sort(), [
      '1 customer',
      '1 employee',
      '1 visitor',
      '2 codename',
    ])
  })

  it('refuse what takes more than linear time, with the place and the position', () => {
    const good = { name: 'good', pattern: 'x' }
    for (const [pattern, what] of [
      ['a(?=b)', /look/i],
      ['(?<!a)b', /look/i],
      ['(a)\\1', /back ?reference/i],
      ['a(b', /./],
    ] as const) {
      for (const make of made({ patterns: [good, { name: 'bad', pattern }] })) {
        const error = throwsWith(make, 'ERR_CONTEXT_INVALID_ARGUMENT', /^redaction\.patterns\[1\]\.pattern: .*\d/)
        assert.match(error.message, what)
      }
      for (const make of made({ allow: ['x', new RegExp(pattern.replace('a(b', 'a(?=b)'))] })) {
        throwsWith(make, 'ERR_CONTEXT_INVALID_ARGUMENT', /^redaction\.allow\[1\]: /)
      }
    }
  })

  it('keep allowed texts', () => {
    const token = new Canaries().token()
    const other = new Canaries().token()
    for (const allow of [[token], [new RegExp(`^${token.slice(0, 12)}`)]]) {
      assert.equal(redact(`${token} ${other}`, { allow }).text, `${token} [REDACTED:github-token]`)
    }
  })

  it('leave single rules out', () => {
    const token = new Canaries().token()
    const { text } = redact(`a ${token} b`, { disable: ['github-token'] })
    assert.equal(text, `a ${token} b`)
  })
})
