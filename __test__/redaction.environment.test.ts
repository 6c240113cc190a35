/** Values of environment variables whose names look secret are secret wherever they occur. */

import assert from 'node:assert/strict'
import { join } from 'node:path'
import process from 'node:process'
import { afterEach, describe, it } from 'node:test'
import { Worker } from 'node:worker_threads'
import { ContextHistory, ContextManager, redact, redactValue } from '../dist/index.js'
import { inDirectory } from './support/fixtures.ts'
import { everythingBelow, randomText } from './support/secrets.ts'

const NAME = 'WOMBAT_API_TOKEN'
const OTHER = 'WOMBAT_LODGE'

afterEach(() => {
  for (const name of [NAME, OTHER]) {
    delete process.env[name]
  }
})

const value = () => `burrow ${randomText(12)}`

describe('a secret of the environment', () => {
  it('is known from the moment the variable is set, until it is changed or gone', async () => {
    const [first, second] = [value(), value()]
    const text = `dig ${first} and ${second} now`
    assert.equal(redact(text).text, text)
    await Promise.resolve()
    process.env[NAME] = first
    assert.equal(redact(text).text, `dig [REDACTED:${ruleOf(text)}] and ${second} now`)
    await Promise.resolve()
    process.env[NAME] = second
    assert.equal(redact(text).text, `dig ${first} and [REDACTED:${ruleOf(text)}] now`)
    await Promise.resolve()
    delete process.env[NAME]
    assert.equal(redact(text).text, text)
    assert.deepEqual(redactValue({ text }).value, { text })
  })

  it('is stored by no manager and no history, whatever was stored before', () =>
    inDirectory(async (directory) => {
      const manager = new ContextManager({ contextDir: join(directory, 'contexts') })
      const history = new ContextHistory({ path: join(directory, 'h.jsonl') })
      const secrets: string[] = []
      /** A value that is set now, and gone when the work is done elsewhere: what counts is the time of the call. */
      const withSecret = async (call: (secret: string) => Promise<unknown>): Promise<void> => {
        const secret = value()
        secrets.push(secret)
        process.env[NAME] = secret
        const calling = call(secret)
        delete process.env[NAME]
        await calling
      }
      for (let round = 0; round < 3; round++) {
        await withSecret((secret) => manager.saveContext(`tool ${secret}`, { a: secret }, [secret], secret, secret))
        await withSecret((secret) => history.append({ toolName: secret, params: secret, result: [secret] }))
      }
      const summarised = value()
      secrets.push(summarised)
      const summarise = () => {
        process.env[NAME] = summarised
        return summarised
      }
      await history.compact({ keepLast: 1, summarise })
      const everything = everythingBelow(directory)
      for (const secret of secrets) {
        assert.ok(!everything.includes(secret), 'a value is on disk')
      }
      await manager.clear()
    }))

  it('is one for its name: others are not', () => {
    const secret = value()
    process.env[OTHER] = secret
    assert.equal(redact(secret).text, secret)
  })

  it('is not the working directory, whose name looks like one', () => {
    const { PWD: before } = process.env
    try {
      for (const name of ['PWD', 'OLDPWD']) {
        process.env[name] = '/home/wombat/burrow'
      }
      assert.equal(redact('at /home/wombat/burrow/dig.ts:4:2').text, 'at /home/wombat/burrow/dig.ts:4:2')
    } finally {
      process.env['PWD'] = before ?? process.cwd()
      delete process.env['OLDPWD']
    }
  })

  it('can be named by the caller', () => {
    const secret = value()
    process.env[OTHER] = secret
    assert.notEqual(redact(secret, { keys: [OTHER] }).text, secret)
  })

  it('is none with environment: false', () => {
    const secret = value()
    process.env[NAME] = secret
    assert.equal(redact(`dig ${secret}`, { environment: false }).text, `dig ${secret}`)
  })

  it('is known in a worker thread, which has an environment of its own', async () => {
    const secret = value()
    const script = `
      import { parentPort } from 'node:worker_threads'
      import process from 'node:process'
      const { redact } = await import(${JSON.stringify(new URL('../dist/index.js', import.meta.url).href)})
      process.env[${JSON.stringify(NAME)}] = ${JSON.stringify(secret)}
      parentPort.postMessage(redact(${JSON.stringify(`dig ${secret}`)}).text)
      setTimeout(() => process.exit(), 100)`
    const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(script)}`))
    const text = await new Promise((resolve, reject) => {
      worker.once('message', resolve).once('error', reject)
    })
    await worker.terminate()
    assert.notEqual(text, `dig ${secret}`)
    assert.equal(redact(`dig ${secret}`).text, `dig ${secret}`, 'here it is not set')
  })
})

/** The rule that finds what is secret in a text. */
function ruleOf(text: string): string {
  return redact(text).findings[0]?.rule ?? 'none'
}
