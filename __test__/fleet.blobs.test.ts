/** Large outputs in a bucket, beside a database: `blobs`. */

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { startBucketProxy } from '../bench/fleet-bucket.ts'
import {
  type BlobsOptions,
  ContextHistory,
  ContextManager,
  type ContextManagerOptions,
  ContextStore,
  copyStorage,
  RepoMemory,
  StateStore,
} from '../dist/index.js'
import {
  BUCKET,
  type BucketServer,
  credentials,
  hasBucketServer,
  MISSING_BUCKET,
  startBucketServer,
} from './support/buckets.ts'
import { agentContext } from './support/command-line.ts'
import { rejectsWith, throwsWith } from './support/fixtures.ts'
import { hasPostgres, ONE_RUNTIME, type PostgresServer, passesWith, startPostgres } from './support/postgres.ts'
import { type Ended, holds, PATIENT, run } from './support/processes.ts'

const LONG = 'long text '.repeat(100_000)
const HASH = '0123456789abcdef'.repeat(4)

describe('blobs', PATIENT, () => {
  let server: PostgresServer | undefined
  let bucket: BucketServer | undefined
  let storage = ''
  let blobs: BlobsOptions = { url: '' }

  before(async () => {
    if (hasPostgres() && hasBucketServer()) {
      server = await startPostgres()
      bucket = await startBucketServer()
      storage = server.url
      blobs = { url: `s3://${BUCKET}/tests`, endpoint: bucket.endpoint, credentials }
    }
  })

  after(async () => {
    await bucket?.stop()
    server?.remove()
  })

  const onServers = (name: string, body: (bucket: BucketServer) => Promise<void>): void => {
    it(name, async (context) => {
      if (bucket === undefined) {
        context.skip('PostgreSQL or the bucket’s server is not installed')
        return
      }
      await body(bucket)
    })
  }

  /** Waits until the bucket has this number of objects: they are removed in the background. */
  const hasObjects = async (expected: number): Promise<void> => {
    const deadline = Date.now() + 60_000
    while ((await bucket?.objects())?.size !== expected) {
      holds(Date.now() < deadline, `the bucket never has ${expected} objects`)
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }

  /** The length of an output that another process loads, or the error. */
  const loadedElsewhere = async (contextDir: string, saved: string): Promise<string> => {
    const withoutCredentials = JSON.stringify({ ...blobs, credentials: undefined })
    const [printed = ''] = await run('fleet-blobs.mjs', [storage, withoutCredentials, contextDir, saved], {
      environment: { AWS_ACCESS_KEY_ID: 'any', AWS_SECRET_ACCESS_KEY: 'any' },
    })
    return printed
  }

  it('needs a database, and names a bucket', async () => {
    const code = 'ERR_CONTEXT_INVALID_ARGUMENT'
    const storage = 'postgres://localhost/db'
    throwsWith(() => new ContextManager({ blobs: 's3://bucket' }), code, /blobs needs storage/)
    throwsWith(() => new ContextHistory({ blobs: 's3://bucket' }), code, /blobs needs storage/)
    throwsWith(() => new StateStore({ blobs: 's3://bucket' }), code, /blobs needs storage/)
    throwsWith(() => new ContextStore({ agent: 'a', blobs: 's3://bucket' }), code, /blobs needs storage/)
    await rejectsWith(() => RepoMemory.open({ repoHash: HASH, blobs: 's3://bucket' }), code)
    const invalid: [unknown, RegExp][] = [
      ['http://bucket', /blobs\.url must begin with s3:\/\//],
      ['s3://key:letmein@bucket', /blobs\.url must name a bucket/],
      [7, /a URL or an object/],
      [{ url: 's3://bucket', endpoint: 'http://minio.example' }, /blobs\.endpoint .*allowHttp/],
      [{ url: 'gs://bucket', region: 'eu-west-1' }, /blobs\.region/],
      [{ url: 's3://bucket', credentials: 'letmein' }, /blobs\.credentials/],
      [{ url: 's3://bucket', allowHttp: 'yes' }, /blobs\.allowHttp/],
      [{ url: 's3://bucket', endPoint: 'https://a' }, /endPoint/],
    ]
    for (const [blobs, message] of invalid) {
      const make = (): unknown => new ContextManager({ storage, blobs: blobs as string })
      throwsWith(make, code, message)
      assert.throws(make, (error: Error) => !error.message.includes('letmein'))
    }
    const allowed = { url: 's3://bucket', endpoint: 'http://minio.example', allowHttp: true }
    await new ContextManager({ storage, blobs: allowed }).close()
  })

  onServers(
    'long outputs are objects, which other processes load and which are removed with their contexts',
    async (bucket) => {
      const options: ContextManagerOptions = { storage, blobs, contextDir: 'long' }
      await using manager = new ContextManager({ ...options, sessionId: 'one' })
      const small = await manager.saveContext('small', {}, 'a short text')
      assert.equal((await bucket.objects()).size, 0)
      const long = await manager.saveContext('long', {}, LONG)
      const bytes = new Uint8Array(700_000).fill(7)
      const binary = await manager.saveContext('binary', {}, bytes)
      const huge = 'x'.repeat(20_000_000)
      const inParts = await manager.saveContext('huge', {}, huge)
      const objects = await bucket.objects()
      assert.deepEqual(
        [...objects.values()].map((size) => Math.round(size / 100_000)).sort((one, other) => one - other),
        [7, 10, 200],
      )
      for (const key of objects.keys()) {
        assert.match(key, /^tests\/agent_context\/[0-9a-f-]{36}$/)
      }
      assert.equal(await bucket.uploads(), 0)
      await using other = new ContextManager(options)
      assert.equal((await other.loadContext(long)).result, LONG)
      assert.equal((await other.loadContext(inParts)).result, huge)
      assert.deepEqual((await other.loadContext(binary)).result, (await manager.loadContext(binary)).result)
      assert.equal((await other.loadContext(small)).result, 'a short text')
      const listed = await other.listContexts('one')
      assert.deepEqual(
        listed.map(({ toolName }) => toolName),
        ['small', 'long', 'binary', 'huge'],
      )
      const read = await other.readContext(long, { bytes: { from: 500_000, to: 500_020 } })
      holds(read.text.includes('long text'), 'a part is read')
      assert.equal(await loadedElsewhere('long', long), String(LONG.length))
      await manager.clear()
      await hasObjects(0)
    },
  )

  onServers('a stream is stored without a copy of it in memory, as one object', async (bucket) => {
    await using manager = new ContextManager({ storage, blobs, contextDir: 'streams', sessionId: 'one' })
    const line = 'a line of a long stream\n'.repeat(4000)
    async function* lines(): AsyncGenerator<string> {
      for (let number = 0; number < 250; number += 1) {
        yield line
      }
    }
    const saved = await manager.saveContext('stream', {}, lines())
    assert.equal((await bucket.objects()).size, 1)
    await using other = new ContextManager({ storage, blobs, contextDir: 'streams' })
    const { result } = await other.loadContext(saved)
    assert.equal(String(result).length, 250 * line.length)
    await manager.clear()
    await hasObjects(0)
  })

  onServers('a part of a long output is read without the rest', async (bucket) => {
    const line = 'a line of a long text, which has 54 characters in all\n'
    const count = 400_000
    const options: ContextManagerOptions = {
      storage,
      contextDir: 'parts',
      retention: { maxResultBytes: 100 * 2 ** 20 },
    }
    await using saving = new ContextManager({ ...options, blobs })
    const saved = await saving.saveContext('tool', {}, line.repeat(count))
    // What the saving manager reads for its index does not pass the proxy.
    const proxy = await startBucketProxy(bucket.port)
    await using manager = new ContextManager({ ...options, blobs: { ...blobs, endpoint: proxy.endpoint } })
    try {
      for (const at of [0, count / 2, count - 600]) {
        const [bytes, lines] = [
          { from: at * line.length, to: (at + 600) * line.length },
          { from: at + 1, to: at + 600 },
        ]
        for (const part of [{ bytes }, { lines }]) {
          const before = proxy.counts()
          const read = await manager.readContext(saved, part)
          const after = proxy.counts()
          assert.equal(read.text.trimEnd(), line.repeat(600).trimEnd())
          const fetched = after.fetched - before.fetched
          holds(fetched <= 1.1 * 2 ** 20, `${JSON.stringify(part)} fetches ${fetched} bytes`)
          holds(after.requests - before.requests <= 4, `${after.requests - before.requests} requests`)
        }
      }
    } finally {
      proxy.close()
    }
    await saving.clear()
  })

  onServers('a sweep and forget remove objects', async () => {
    const options: ContextManagerOptions = { storage, blobs, contextDir: 'swept' }
    const first = new ContextManager(options)
    await first.saveContext('tool', {}, LONG)
    await first.close()
    await using manager = new ContextManager({ ...options, sessionId: 'two', retention: { maxFiles: 0 } })
    await manager.saveContext('tool', { number: 2 }, LONG)
    await hasObjects(2)
    await manager.sweep()
    await hasObjects(1)
    await manager.forget({ toolName: 'tool' })
    await hasObjects(0)
  })

  onServers('the other classes accept the same options', async (bucket) => {
    const history = new ContextHistory({ storage, blobs, path: 'blobs' })
    await history.append({ toolName: 'tool', params: {}, result: LONG })
    assert.equal((await history.read(1)).length, 1)
    await history.close()
    const state = new StateStore({ storage, blobs, path: 'blobs' })
    await state.put(['a'], 'b', LONG)
    assert.equal((await state.get(['a'], 'b'))?.value, LONG)
    await state.close()
    assert.equal((await bucket.objects()).size, 0)
    await using memory = await RepoMemory.open({ storage, blobs, root: 'blobs', repoHash: HASH })
    for (let number = 0; number < 8; number += 1) {
      await memory.upsertConvention({ title: `Convention ${number}`, content: `${number} `.repeat(25_000) })
    }
    await hasObjects(1)
    await using other = await RepoMemory.open({ storage, blobs, root: 'blobs', repoHash: HASH })
    assert.equal((await other.getRepoMemory()).conventions.length, 8)
    await using store = new ContextStore({ storage, blobs, path: 'blobs', agent: 'a' })
    const { path } = await store.write({ type: 'finding', slug: 'x', content: 'A finding.' })
    assert.equal((await store.read(path)).content.trim(), 'A finding.')
  })

  onServers('objects in another bucket, and objects that are missing, are reported', async (bucket) => {
    const options: ContextManagerOptions = { storage, blobs, contextDir: 'missing' }
    await using manager = new ContextManager(options)
    const before = new Set((await bucket.objects()).keys())
    const saved = await manager.saveContext('tool', {}, LONG)
    await using elsewhere = new ContextManager({ ...options, blobs: { ...blobs, url: `s3://${BUCKET}/other` } })
    await rejectsWith(
      () => elsewhere.loadContext(saved),
      'ERR_CONTEXT_UNSUPPORTED',
      /s3:\/\/agents\/tests.*names s3:\/\/agents\/other/,
    )
    await using without = new ContextManager({ storage, contextDir: 'missing' })
    await rejectsWith(() => without.loadContext(saved), 'ERR_CONTEXT_UNSUPPORTED', /the option blobs is not given/)
    for (const key of (await bucket.objects()).keys()) {
      if (!before.has(key)) {
        await bucket.removeObject(key)
      }
    }
    assert.match(await loadedElsewhere('missing', saved), /^ERR_CONTEXT_STORAGE .*is missing in s3:\/\/agents/)
    await using nowhere = new ContextManager({ ...options, blobs: { ...blobs, url: 's3://no-such-bucket' } })
    await rejectsWith(() => nowhere.saveContext('tool', {}, LONG), ...MISSING_BUCKET)
  })

  onServers('refused access and credentials that fail are reported without the credentials', async () => {
    const refusing = createServer((request, answer) => {
      request.resume()
      answer.writeHead(403, { 'content-type': 'application/xml' })
      answer.end(
        '<Error><Code>AccessDenied</Code><Message>No.</Message><AWSAccessKeyId>letmein</AWSAccessKeyId></Error>',
      )
    })
    await new Promise<void>((listening) => refusing.listen(0, '127.0.0.1', listening))
    const endpoint = `http://127.0.0.1:${(refusing.address() as AddressInfo).port}`
    const options: ContextManagerOptions = { storage, contextDir: 'refused' }
    const secret = (): { accessKeyId: string; secretAccessKey: string } => ({
      accessKeyId: 'letmein',
      secretAccessKey: 'letmein',
    })
    await using refused = new ContextManager({ ...options, blobs: { ...blobs, endpoint, credentials: secret } })
    const error = await refused.saveContext('tool', {}, LONG).then(
      () => assert.fail('it was stored'),
      (error: Error) => error,
    )
    assert.equal((error as Error & { code?: string }).code, 'ERR_CONTEXT_ACCESS')
    assert.match(error.message, /s3:\/\/agents refused to store the object tests\/.*403 AccessDenied No\./)
    assert.doesNotMatch(`${error.message} ${String(error.cause)}`, /letmein/)
    refusing.close()
    refusing.closeAllConnections()
    const failing = (): never => {
      throw new Error('the vault is sealed')
    }
    await using without = new ContextManager({ ...options, blobs: { ...blobs, credentials: failing } })
    await rejectsWith(() => without.saveContext('tool', {}, LONG), 'ERR_CONTEXT_ACCESS', /the vault is sealed/)
    const gone = { ...blobs, endpoint: 'http://127.0.0.1:1' }
    await using unreachable = new ContextManager({ ...options, storage: { url: storage, timeout: 500 }, blobs: gone })
    await rejectsWith(
      () => unreachable.saveContext('tool', {}, LONG),
      'ERR_CONTEXT_STORAGE',
      /s3:\/\/agents within 500 ms/,
    )
    assert.deepEqual(await unreachable.listContexts(), [])
  })

  onServers('credentials are asked for once while they last', async () => {
    let calls = 0
    const lasting = async (): Promise<{ accessKeyId: string; secretAccessKey: string; expiration: Date }> => {
      calls += 1
      return { accessKeyId: 'any', secretAccessKey: 'any', expiration: new Date(Date.now() + 3_600_000) }
    }
    const options: ContextManagerOptions = { storage, blobs: { ...blobs, credentials: lasting }, contextDir: 'lasting' }
    await using manager = new ContextManager(options)
    await Promise.all([0, 1, 2].map((number) => manager.saveContext('tool', { number }, `${number}${LONG}`)))
    assert.equal(calls, 1)
    await manager.clear()
  })

  onServers('outputs are copied out of a bucket and into one', async (bucket) => {
    const directory = mkdtempSync(join(tmpdir(), 'agent-context-blobs-'))
    const copies = { ...blobs, url: `s3://${BUCKET}/copies` }
    const [first, disk, second] = [
      { storage, blobs: copies, contextDir: 'copied' },
      { contextDir: join(directory, 'contexts') },
      { storage, blobs: copies, contextDir: 'copied-back' },
    ]
    const manager = new ContextManager(first)
    const { handle } = await manager.offload('tool', {}, LONG)
    await copyStorage({ from: first, to: disk })
    await copyStorage({ from: disk, to: second })
    const keys = [...(await bucket.objects()).keys()]
    assert.equal(keys.filter((key) => key.startsWith('copies/')).length, 2)
    for (const place of [disk, second]) {
      await using copied = new ContextManager(place)
      assert.equal((await copied.loadContext(handle ?? '')).result, LONG)
    }
    await manager.close()
    rmSync(directory, { recursive: true })
  })

  onServers('the program reads outputs in a bucket, and copies into it', async (bucket) => {
    const manager = new ContextManager({ storage, blobs, contextDir: 'program' })
    const saved = await manager.saveContext('tool', {}, LONG)
    await manager.close()
    const folder = mkdtempSync(join(tmpdir(), 'agent-context-blobs-'))
    const environment = {
      AGENT_CONTEXT_DIR: 'program',
      AGENT_CONTEXT_STORAGE: storage,
      AWS_ENDPOINT_URL: bucket.endpoint,
      AWS_ACCESS_KEY_ID: 'any',
      AWS_SECRET_ACCESS_KEY: 'any',
    }
    const program = (words: readonly string[], more = {}): Promise<Ended> =>
      agentContext(folder, words, { environment: { ...environment, ...more } })
    const bucketOf = ['--blobs', `s3://${BUCKET}/tests`]
    const read = await program(['read', saved, ...bucketOf, '--whole'])
    assert.equal(read.code, 0, read.stderr)
    assert.equal(read.stdout.trim(), LONG.trim())
    const without = await program(['read', saved, '--whole'])
    assert.match(without.stderr, /the option blobs is not given/)
    const ofVariables = { AGENT_CONTEXT_BLOBS: `s3://${BUCKET}/tests` }
    const out = await program(['copy', '--to', 'files', '--dir', 'program'], ofVariables)
    assert.equal(out.code, 0, out.stderr)
    const to = ['copy', '--from', 'files', '--to', storage, '--dir', 'program', '--blobs', `s3://${BUCKET}/tests`]
    const back = await program(to, { AGENT_CONTEXT_STORAGE: undefined })
    assert.equal(back.code, 0, back.stderr)
    const alone = await program(['list', '--blobs', `s3://${BUCKET}/a`], { AGENT_CONTEXT_STORAGE: undefined })
    assert.equal(alone.code, 2)
    assert.match(alone.stderr, /add --storage URL/)
    rmSync(folder, { recursive: true })
  })

  it('the tests of a fleet pass with a bucket', ONE_RUNTIME, async (context) => {
    if (bucket === undefined) {
      context.skip('PostgreSQL or the bucket’s server is not installed')
      return
    }
    const variables = {
      AGENT_CONTEXT_TEST_BLOBS: JSON.stringify({ ...blobs, url: `s3://${BUCKET}/once-more`, credentials: undefined }),
      AWS_ACCESS_KEY_ID: 'any',
      AWS_SECRET_ACCESS_KEY: 'any',
    }
    await passesWith(variables, ['fleet.files'], 10)
  })
})
