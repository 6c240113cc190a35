import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { basename, join } from 'node:path'
import process from 'node:process'
import { describe, test } from 'node:test'
import { ContextStore, type StoreEntry } from '../dist/index.js'
import { inDirectory } from './support/processes.ts'

const hasRipgrep = spawnSync('rg', ['--version']).status === 0
// In CI what a test needs must be there.
const skip = hasRipgrep || process.env['CI'] === 'true' ? false : 'needs ripgrep (Debian package ripgrep)'
const STORE = '.local/share/single-file-agents/context'
const SESSION = 'a1b2c3d4-e5f6-7890-abcd-ef1234567890'

interface Written {
  finding: StoreEntry
  fix: StoreEntry
  decision: StoreEntry
  summary: StoreEntry
}

/** Runs a line in a shell whose home is the directory; gives the lines it prints, sorted. */
function shell(home: string, line: string): string[] {
  const { status, stdout, stderr } = spawnSync('sh', ['-c', line], {
    encoding: 'utf8',
    env: { ...process.env, HOME: home, LC_ALL: 'C.UTF-8' },
  })
  assert.equal(stderr, '')
  assert.equal(status, 0, `${line} found nothing`)
  return stdout.split('\n').filter((text) => text !== '')
}

/** The names of the files in lines of `rg`, each once. */
function filesIn(lines: readonly string[]): string[] {
  return [...new Set(lines.map((line) => basename(line.split('.md:')[0] ?? '')))].map((name) => `${name}.md`).sort()
}

const namesOf = (...entries: readonly StoreEntry[]): string[] => entries.map(({ path }) => basename(path)).sort()

async function write(home: string): Promise<Written> {
  const path = join(home, STORE)
  const reviewer = new ContextStore({ agent: 'code-reviewer', path })
  const fixer = new ContextStore({ agent: 'code-fixer', path })
  const summarizer = new ContextStore({ agent: 'summarizer', path, sessionId: SESSION })
  const finding = await reviewer.write({
    type: 'finding',
    slug: 'auth-vulnerability',
    content: '# Session tokens\n\nThe authentication of `/login` never expires.',
    tags: ['security', 'authentication', 'needs: care'],
  })
  const decision = await reviewer.write({
    type: 'decision',
    slug: 'rotate-keys',
    content: 'Keys are rotated every night.',
    tags: ['security'],
    links: [finding.path],
  })
  const fix = await fixer.write({ type: 'artifact', slug: 'applied-fixes', content: 'Patched.', tags: ['patch'] })
  const summary = await summarizer.write({ type: 'summary', slug: 'review-summary', content: 'All is well.' })
  // What was changed is found as what was written is.
  return {
    finding: await fixer.update(finding.path, { addTags: ['reviewed'] }, 'Checked the patch'),
    fix: await reviewer.link(fix.path, finding.path),
    decision,
    summary,
  }
}

describe('what a store writes', { skip }, () => {
  test('is found by the commands of the specification', () =>
    inDirectory(async (home) => {
      const { finding, fix, decision, summary } = await write(home)
      assert.deepEqual(filesIn(shell(home, `rg 'tags:.*security' ~/${STORE}/`)), namesOf(finding, decision), 'by tag')
      assert.deepEqual(filesIn(shell(home, `rg '^type: finding' ~/${STORE}/`)), namesOf(finding), 'by type')
      assert.deepEqual(filesIn(shell(home, `rg 'authentication' ~/${STORE}/`)), namesOf(finding), 'by text')
      assert.deepEqual(shell(home, `ls ~/${STORE}/code-reviewer/`), namesOf(finding, decision), 'of an agent')
      assert.deepEqual(filesIn(shell(home, `rg 'type: decision' ~/${STORE}/`)), namesOf(decision), 'of all agents')
      assert.deepEqual(shell(home, `ls ~/${STORE}/*/${SESSION}/`), namesOf(summary), 'of a session')
      const linked = filesIn(shell(home, `rg '^  - ${finding.path}' ~/${STORE}/`))
      assert.deepEqual(linked, namesOf(decision, fix), 'by link')
    })())

  test('is only in files with such names: no other file is listed or searched', () =>
    inDirectory(async (home) => {
      const { finding, decision } = await write(home)
      const store = new ContextStore({ agent: 'reader', path: join(home, STORE) })
      await store.search({ query: 'authentication' })
      await store.close()
      assert.deepEqual(shell(home, `ls ~/${STORE}/`), ['code-fixer', 'code-reviewer', 'summarizer'])
      const found = shell(home, `rg -l --no-ignore '' ~/${STORE}/code-reviewer`).map((path) => basename(path))
      assert.deepEqual(found.sort(), namesOf(finding, decision))
    })())

  test('has the changelog of the specification', () =>
    inDirectory(async (home) => {
      await write(home)
      const lines = shell(
        home,
        `rg --no-filename '^- \\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\dZ \\[code-fixer\\]: ' ~/${STORE}/`,
      )
      assert.deepEqual(
        lines.map((line) => line.replace(/^- \S+ /, '')),
        ['[code-fixer]: Checked the patch'],
      )
    })())
})
