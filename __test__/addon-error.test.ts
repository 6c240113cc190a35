/** What is reported where the addon cannot be loaded: each test makes the environment in which it happens. */

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { TARGETS } from '../lib/native/addon-error.ts'
import { inDirectory, PATIENT, runtimeParameters } from './support/processes.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const onNode = process.versions['bun'] === undefined && process.versions['deno'] === undefined

interface Environment {
  readonly platform?: string
  readonly arch?: string
  /** The text of `ldd`; `null` where there is none. */
  readonly ldd?: string | null
  /** The libraries that the process has loaded. */
  readonly libraries?: readonly string[]
  readonly node?: string
  /** Platform packages in node_modules, without an addon. */
  readonly installed?: readonly string[]
  /** The text of the addon beside the package. */
  readonly addon?: string
  readonly flags?: readonly string[]
}

interface Reported {
  readonly code: string
  readonly message: string
  readonly cause: string | null
}

/** Loads a copy of the package without an addon, in a process that believes to be elsewhere. */
function reportedIn(directory: string, environment: Environment): Reported {
  const copy = join(directory, 'node_modules/agent-context')
  mkdirSync(join(copy, 'dist'), { recursive: true })
  for (const name of ['native.cjs', 'package.json', 'dist/addon-error.cjs']) {
    cpSync(join(root, name), join(copy, name))
  }
  for (const target of environment.installed ?? []) {
    const installed = join(directory, `node_modules/agent-context-${target}`)
    mkdirSync(installed)
    writeFileSync(
      join(installed, 'package.json'),
      JSON.stringify({ name: `agent-context-${target}`, version: '0.0.0' }),
    )
  }
  if (environment.addon !== undefined) {
    writeFileSync(join(copy, 'agent-context.linux-x64-gnu.node'), environment.addon)
  }
  const script = join(directory, 'app.cjs')
  writeFileSync(
    script,
    `
const environment = ${JSON.stringify({ platform: 'linux', arch: 'x64', ldd: 'GNU libc', ...environment })}
const process = require('node:process')
const fs = require('node:fs')
for (const name of ['platform', 'arch']) {
  Object.defineProperty(process, name, { value: environment[name] })
}
if (environment.node) {
  Object.defineProperty(process, 'versions', { value: { node: environment.node } })
}
if (environment.libraries) {
  Object.defineProperty(process, 'report', { value: { getReport: () => ({ sharedObjects: environment.libraries }) } })
}
const readFileSync = fs.readFileSync
fs.readFileSync = (path, ...rest) => {
  if (path !== '/usr/bin/ldd') return readFileSync(path, ...rest)
  if (environment.ldd === null) throw Object.assign(new Error('no such file'), { code: 'ENOENT' })
  return environment.ldd
}
try {
  require('./node_modules/agent-context/native.cjs')
} catch ({ code, message, cause }) {
  console.log(JSON.stringify({ code, message, cause: cause?.code ?? null }))
}
`,
  )
  const { stdout, stderr } = spawnSync(
    process.execPath,
    [...runtimeParameters(process.execPath), ...(environment.flags ?? []), script],
    { encoding: 'utf8', cwd: directory, env: { ...process.env, NAPI_RS_NATIVE_LIBRARY_PATH: '' } },
  )
  assert.match(stdout, /^\{/, stderr)
  return JSON.parse(stdout) as Reported
}

/** One message, whose parts come in this order, and nothing of package managers' defects. */
function reports(
  title: string,
  environment: Environment,
  parts: readonly RegExp[],
  skip: string | false = false,
): void {
  test(
    title,
    { ...PATIENT, skip },
    inDirectory(async (directory) => {
      const { code, message } = reportedIn(directory, environment)
      assert.equal(code, 'ERR_CONTEXT_ADDON')
      let rest = message
      for (const part of parts) {
        assert.match(rest, part, message)
        rest = rest.slice((part.exec(rest)?.index ?? 0) + 1)
      }
      assert.doesNotMatch(message, /\n|npm has a bug|undefined/)
    }),
  )
}

describe('the addon cannot be loaded', () => {
  reports('a missing platform package is named, with the command that installs it', {}, [
    /package agent-context-linux-x64-gnu is not installed/,
    /--omit=optional/,
    /npm install --include=optional/,
  ])
  reports('a package for glibc is named on musl', { ldd: 'musl libc (x86_64)', installed: ['linux-x64-gnu'] }, [
    /agent-context-linux-x64-musl is not installed/,
    /linux-x64-gnu is, which is for glibc/,
    /--libc=musl/,
  ])
  reports(
    'musl is recognised without ldd, by the libraries of the process',
    { ldd: null, libraries: ['/lib/ld-musl-x86_64.so.1'], installed: ['linux-x64-gnu'] },
    [/this system has musl/],
    process.versions['deno'] !== undefined && 'process.report is not the object of node:process',
  )
  reports('a package for musl is named on glibc', { installed: ['linux-x64-musl'] }, [
    /agent-context-linux-x64-gnu is not installed/,
    /linux-x64-musl is, which is for musl/,
    /--libc=glibc/,
  ])
  reports('node_modules of another platform is recognised', { installed: ['darwin-arm64'] }, [
    /agent-context-darwin-arm64 is/,
    /another platform/,
    /--os=linux --cpu=x64/,
  ])
  reports('a platform without a package is refused by name', { platform: 'freebsd' }, [
    /no addon for freebsd-x64/,
    /clone of the repository/,
  ])
  reports('an architecture without a package is refused by name', { arch: 'ppc64' }, [/no addon for linux-ppc64-gnu/])
  reports(
    'an old Node.js is refused with the versions that work',
    { node: '20.18.3' },
    [/needs Node\.js 20\.19, 22\.12 or newer, and this is 20\.18\.3/],
    !onNode && 'only Node.js has these versions',
  )
  reports(
    'a Node.js between two that work is refused as well',
    { node: '22.11.0' },
    [/this is 22\.11\.0/],
    !onNode && 'only Node.js has these versions',
  )
  reports(
    'an addon that is no library is reported with the reason',
    { addon: 'no library' },
    [/cannot load its addon for linux-x64-gnu: /, /install again/],
    process.platform !== 'linux' && 'the loader of Linux is asked',
  )
  reports(
    'addons that Node.js refuses are reported with the flag',
    { addon: '', flags: ['--no-addons'] },
    [/cannot load its addon/, /--allow-addons/],
    !onNode && 'a flag of Node.js',
  )

  test(
    'the first failure is the cause',
    PATIENT,
    inDirectory(async (directory) => {
      assert.match(String(reportedIn(directory, {}).cause), /MODULE_NOT_FOUND$/)
    }),
  )
})

describe('an entry of require()', () => {
  test('gives the message of an old Node.js before anything else is loaded', { ...PATIENT, skip: !onNode }, () => {
    const old = `Object.defineProperty(process, 'versions', { value: { node: '18.20.8' } })`
    for (const entry of ['index', 'tools']) {
      const use = `try { require(${JSON.stringify(join(root, 'dist', `${entry}.cjs`))}) } catch (error) { console.log(error.code) }`
      const { stdout, stderr } = spawnSync(process.execPath, ['--eval', `${old}\n${use}`], { encoding: 'utf8' })
      assert.equal(stdout, 'ERR_CONTEXT_ADDON\n', stderr)
    }
  })
})

describe('the platforms', () => {
  const loader = readFileSync(join(root, 'native.cjs'), 'utf8')

  test('are loaded by literal names, which bundlers find', () => {
    for (const target of TARGETS) {
      assert.ok(loader.includes(`require('./agent-context.${target}.node')`), target)
      assert.ok(loader.includes(`require('agent-context-${target}')`), target)
    }
    assert.equal(loader.match(/require\('agent-context-/g)?.length, TARGETS.length)
  })
})
