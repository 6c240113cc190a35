/** What must agree before a release: versions, lock files, and the platforms of the workflow. */

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const script = (name: string): Promise<unknown> => import(new URL(`../scripts/release/${name}`, import.meta.url).href)
const text = (name: string): string => readFileSync(join(root, name), 'utf8')

const { problemsOf, sectionOf } = (await script('version.mjs')) as {
  problemsOf(state: object): string[]
  sectionOf(changelog: string, version: string): string | undefined
}
const { unlockedCrates, unlockedPackages, auditOutcome } = (await script('locks.mjs')) as {
  unlockedCrates(text: string): string[]
  unlockedPackages(lock: object): string[]
  auditOutcome(json: string): { isKnown: boolean; advisories: string[] }
}
const manifest = JSON.parse(text('package.json')) as { version: string; napi: { targets: string[] } }

describe('a tag', () => {
  const released = {
    tag: 'v1.2.3',
    repository: 'someone/agent-context',
    manifest: { version: '1.2.3', repository: { url: 'git+https://github.com/someone/agent-context.git' } },
    cargo: '[workspace.package]\nversion = "1.2.3"\n',
    changelog: '# Changelog\n\n## 1.2.3 (2026-12-01)\n\n- New.\n\n## 1.2.2\n\n- Old.\n',
  }

  test('is released when all places agree, with the section of its version', () => {
    assert.deepEqual(problemsOf(released), [])
    assert.equal(sectionOf(released.changelog, '1.2.3'), '- New.')
    assert.equal(sectionOf(released.changelog, '1.2'), undefined)
  })

  for (const [what, change, problem] of [
    ['another version', { tag: 'v1.2.4' }, /tag is v1\.2\.4/],
    [
      'crates of another version',
      { cargo: '[workspace.package]\nversion = "1.2.2"\n' },
      /Cargo\.toml has version 1\.2\.2/,
    ],
    ['no section', { changelog: '# Changelog\n\n## 1.2.2\n\n- Old.\n' }, /no section for 1\.2\.3/],
    [
      'a section without a date',
      { changelog: '# Changelog\n\n## 1.2.3 (unreleased)\n\n- New.\n' },
      /calls 1\.2\.3 unreleased/,
    ],
    ['another repository', { repository: 'fork/agent-context' }, /npm refuses the provenance/],
  ] as const) {
    test(`is not released with ${what}`, () => {
      const problems = problemsOf({ ...released, ...change })
      assert.equal(problems.length, 1)
      assert.match(problems[0] ?? '', problem)
    })
  }

  test('the crates have the version of the package', () => {
    assert.match(text('Cargo.toml'), new RegExp(`\\[workspace\\.package\\]\\nversion = "${manifest.version}"`))
  })
})

describe('lock files', () => {
  const crate = (source: string): string =>
    `[[package]]\nname = "a"\nversion = "1.0.0"\n${source}\n\n[[package]]\nname = "ours"\nversion = "0.1.0"\n`

  test('crates come from the registry, with a checksum', () => {
    assert.deepEqual(unlockedCrates(text('Cargo.lock')), [])
    const registry = 'source = "registry+https://index"\n'
    assert.deepEqual(unlockedCrates(crate(`${registry}checksum = "${'0a'.repeat(32)}"`)), [])
    assert.equal(unlockedCrates(crate(registry)).length, 1)
    assert.equal(unlockedCrates(crate(`source = "git+https://host"\nchecksum = "${'0a'.repeat(32)}"`)).length, 1)
  })

  test('npm packages come from a registry, with a SHA-512', () => {
    const lock = (entry: object): object => ({ packages: { '': {}, 'node_modules/a': { version: '1.0.0', ...entry } } })
    const integrity = 'sha512-AAAA'
    assert.deepEqual(unlockedPackages(lock({ integrity })), [])
    assert.deepEqual(unlockedPackages(lock({ integrity, resolved: 'https://host/a-1.0.0.tgz' })), [])
    assert.equal(unlockedPackages(lock({})).length, 1)
    assert.equal(unlockedPackages(lock({ integrity: 'sha1-AAAA' })).length, 1)
    assert.equal(unlockedPackages(lock({ integrity, resolved: 'git+ssh://host/a.git' })).length, 1)
    assert.equal(unlockedPackages(lock({ integrity, link: true })).length, 1)
  })

  test('an audit that got no answer is not taken for one without advisories', () => {
    assert.deepEqual(auditOutcome('{ "message": "405 Method Not Allowed" }'), { isKnown: false, advisories: [] })
    assert.deepEqual(auditOutcome(''), { isKnown: false, advisories: [] })
    assert.deepEqual(auditOutcome('{ "vulnerabilities": {} }'), { isKnown: true, advisories: [] })
    const found = { vulnerabilities: { a: { name: 'a', severity: 'high', via: [{ title: 'Injection' }] } } }
    assert.deepEqual(auditOutcome(JSON.stringify(found)).advisories, ['npm audit: a (high): Injection'])
  })
})

describe('the release workflow', () => {
  const workflow = text('.github/workflows/release.yml')

  test('builds the targets of package.json', () => {
    const built = [...workflow.matchAll(/\{ target: (\S+),/g)].map(([, target]) => target)
    assert.deepEqual(built.sort(), [...manifest.napi.targets].sort())
  })

  test('publishes with provenance, from pinned actions', () => {
    assert.match(workflow, /npm publish "\$file" --provenance/)
    for (const name of ['ci.yml', 'release.yml']) {
      const uses = [...text(`.github/workflows/${name}`).matchAll(/uses: (\S+)/g)].map(([, action = '']) => action)
      assert.ok(uses.length > 0)
      assert.deepEqual(
        uses.filter((action) => !/@[0-9a-f]{40}$/.test(action)),
        [],
      )
    }
  })
})
