import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { holds, PATIENT } from './support/processes.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const program = join(root, 'dist', 'cli')
const server = join(root, 'dist', 'mcp')
const programFiles = readdirSync(program)
/** Bytes, compressed. */
const MOST = { program: 64 * 1024, hook: 6 * 1024, server: 120 * 1024, package: 1.5 * 1024 * 1024 }

/** What a module imports from beside it, in either form. */
function importsOf(path: string): string[] {
  return [...readFileSync(path, 'utf8').matchAll(/(?:from|import)\s*\(?\s*["'](\.[^"'\s]+\.js)["']/g)].map(
    ([, name = '']) => join(path, '..', name),
  )
}

function reachableFrom(entry: string): Set<string> {
  const seen = new Set<string>()
  const waiting = [entry]
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (!seen.has(path)) {
      seen.add(path)
      waiting.push(...importsOf(path))
    }
  }
  return seen
}

describe('the package', () => {
  test('no entry of the library imports the program', () => {
    for (const entry of ['index.js', 'tools.js', 'addon.js']) {
      const reached = [...reachableFrom(join(root, 'dist', entry))]
      assert.deepEqual(
        reached.filter((path) => path.startsWith(program) || path.startsWith(server)),
        [],
      )
    }
    // The walk sees imports: the program does reach the library.
    holds(reachableFrom(join(program, 'agent-context.js')).has(join(root, 'dist', 'index.js')))
  })

  test('the version is printed without the parser and the addon', PATIENT, () => {
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
    const text = readFileSync(join(program, 'agent-context.js'), 'utf8')
    holds(text.startsWith('#!/usr/bin/env node\n'))
    assert.equal(
      execFileSync(process.execPath, [join(program, 'agent-context.js'), '--version'], { encoding: 'utf8' }),
      `${version}\n`,
    )
    // What it needs for this is in this file; the rest is imported when it is needed.
    holds(!/^import[^(]*from\s*["']\./m.test(text), text)
  })

  // Bun's gzip makes more of the same text.
  test('the program is small', { skip: 'Bun' in globalThis && 'measured with the gzip of Node.js' }, () => {
    const code = programFiles.filter((name) => name.endsWith('.js')).map((name) => readFileSync(join(program, name)))
    const bytes = gzipSync(Buffer.concat(code)).length
    holds(bytes <= MOST.program, `${bytes} bytes compressed`)
  })

  test('a hook loads one file beside the library', {
    skip: 'Bun' in globalThis && 'measured with the gzip of Node.js',
  }, () => {
    const code = readFileSync(join(program, 'hook.cjs'), 'utf8')
    const loaded = new Set([...code.matchAll(/(?:require|import)\("([^"]+)"\)/g)].map(([, name = '']) => name))
    assert.deepEqual(
      [...loaded].filter((name) => !name.startsWith('node:')),
      ['../index.js'],
    )
    const bytes = gzipSync(code).length
    holds(bytes <= MOST.hook, `${bytes} bytes compressed`)
  })

  test('importing the library loads no module of Node.js that most processes do not need', () => {
    const code = [...reachableFrom(join(root, 'dist', 'index.js'))].map((path) => readFileSync(path, 'utf8')).join('\n')
    const imported = new Set([...code.matchAll(/^import .*from "(node:[^"]+)"/gm)].map(([, name = '']) => name))
    holds(imported.has('node:path'))
    // An ESM import of these modules reads all of their exports, and loads the streams, web cryptography, …
    for (const heavy of ['node:process', 'node:crypto', 'node:fs', 'node:util', 'node:stream', 'node:http']) {
      holds(!imported.has(heavy), heavy)
    }
  })

  test('the program brings the licences of its packages', () => {
    const notices = readFileSync(join(program, 'THIRD-PARTY-NOTICES'), 'utf8')
    for (const name of ['commander', 'jsonc-parser']) {
      holds(notices.includes(name), name)
    }
  })

  test('the server is small, without parts of the SDK that it does not use', () => {
    const code = readFileSync(join(server, 'serve.js'))
    const bytes = gzipSync(code).length
    holds(bytes <= MOST.server, `${bytes} bytes compressed`)
    holds(!code.includes('schema is invalid: '), 'a validator of JSON Schema is in it')
    holds(readFileSync(join(server, 'THIRD-PARTY-NOTICES'), 'utf8').includes('@modelcontextprotocol/server'))
  })

  test('what is published is small without the addon', PATIENT, () => {
    const listing = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
      cwd: root,
      encoding: 'utf8',
      shell: process.platform === 'win32',
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    const [{ files }] = JSON.parse(listing) as [{ files: { path: string }[] }]
    const published = files.map(({ path }) => path).filter((path) => !path.endsWith('.node'))
    for (const needed of [
      'dist/cli/agent-context.js',
      'dist/mcp/serve.js',
      'dist/cli/opencode-plugin.js',
      'index.d.ts',
    ]) {
      holds(published.includes(needed), needed)
    }
    const bytes = gzipSync(Buffer.concat(published.map((path) => readFileSync(join(root, path))))).length
    holds(bytes <= MOST.package, `${bytes} bytes compressed`)
  })

  test('the program can be executed, and the package has no dependencies', () => {
    const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
      bin: Record<string, string>
      dependencies?: object
    }
    assert.deepEqual(manifest.bin, { 'agent-context': 'dist/cli/agent-context.js' })
    assert.equal(manifest.dependencies, undefined)
    holds(process.platform === 'win32' || (statSync(join(program, 'agent-context.js')).mode & 0o111) !== 0)
  })
})
