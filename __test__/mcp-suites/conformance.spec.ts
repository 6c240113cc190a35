import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { startFixture, startProduct } from './support/servers.ts'

const SUITE = fileURLToPath(new URL('node_modules/@modelcontextprotocol/conformance/dist/index.js', import.meta.url))
const LIMIT = { timeout: 300_000 }

/** Scenarios that need no tool, resource or prompt of a fixture. */
const OF_PRODUCT = {
  '2026-07-28': [
    'server-stateless',
    'completion-complete',
    'tools-list',
    'server-sse-multiple-streams',
    'resources-list',
    'sep-2164-resource-not-found',
    'prompts-list',
    'dns-rebinding-protection',
    'caching',
    'http-header-validation',
  ],
  '2025-11-25': [
    'server-initialize',
    'ping',
    'completion-complete',
    'tools-list',
    'server-sse-multiple-streams',
    'resources-list',
    'prompts-list',
    'dns-rebinding-protection',
  ],
} as const
type Revision = keyof typeof OF_PRODUCT
const REVISIONS = Object.keys(OF_PRODUCT) as Revision[]

/** Checks of `server-stateless` that call tools of the fixture. */
const NEED_A_FIXTURE_TOOL = [
  'sep-2575-http-server-no-independent-requests-on-stream',
  'sep-2575-missing-capability-http-400',
  'sep-2575-server-no-log-without-loglevel',
  'sep-2575-server-rejects-undeclared-capability',
]

interface Check {
  readonly id: string
  readonly status: string
  readonly errorMessage?: string
}

/** The checks of every scenario that was run, by its name. */
async function run(
  parameters: readonly string[],
): Promise<{ code: number; output: string; checks: Map<string, Check[]> }> {
  const folder = mkdtempSync(join(tmpdir(), 'agent-context-conformance-'))
  try {
    const ended = await new Promise<{ code: number; output: string }>((resolve) => {
      const words = [SUITE, 'server', ...parameters, '-o', folder]
      execFile(process.execPath, words, { maxBuffer: 1 << 26 }, (error, stdout, stderr) => {
        resolve({ code: error === null ? 0 : Number(error.code ?? 1), output: `${stdout}\n${stderr}` })
      })
    })
    const checks = new Map<string, Check[]>()
    for (const name of readdirSync(folder)) {
      const scenario = name.replace(/^server-/, '').replace(/-\d{4}-\d{2}-\d{2}T.*$/, '')
      checks.set(scenario, JSON.parse(readFileSync(join(folder, name, 'checks.json'), 'utf8')) as Check[])
    }
    return { ...ended, checks }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

describe('the conformance suite of the protocol', () => {
  for (const revision of REVISIONS) {
    test(`the server passes every scenario of ${revision} that needs no fixture`, LIMIT, async () => {
      const directory = mkdtempSync(join(tmpdir(), 'agent-context-conformance-'))
      try {
        await using served = await startProduct(directory)
        const { checks, output } = await run(['--url', served.address, '--requirements', revision])
        for (const scenario of OF_PRODUCT[revision]) {
          const found = checks.get(scenario)
          assert.ok(found !== undefined, `${scenario} did not run:\n${output.slice(0, 2000)}`)
          const failed = found.filter(({ status }) => status === 'FAILURE')
          const expected = scenario === 'server-stateless' ? NEED_A_FIXTURE_TOOL : []
          assert.deepEqual(
            failed.filter(({ id }) => !expected.includes(id)),
            [],
            scenario,
          )
          if (scenario === 'server-stateless') {
            assert.ok(found.filter(({ status }) => status === 'SUCCESS').length >= 24, JSON.stringify(found))
          }
        }
      } finally {
        rmSync(directory, { recursive: true, force: true })
      }
    })

    test(`the HTTP stack with a fixture passes ${revision}, except what the baseline names`, LIMIT, async () => {
      await using served = await startFixture()
      const baseline = fileURLToPath(new URL(`baseline-${revision}.yml`, import.meta.url))
      const { code, output } = await run([
        ...['--url', served.address],
        ...['--requirements', revision],
        // Entries that pass are errors, too.
        ...['--expected-failures', baseline],
      ])
      assert.equal(code, 0, output.slice(output.indexOf('=== SUMMARY ===')))
    })
  }
})
