/** The installed package: in applications of both module systems, under the compiler, and through bundlers. */

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { type BuildOptions, build } from 'esbuild'
import { rollup } from 'rollup'
import ts from 'typescript'
import { holds, inDirectory, PATIENT } from './support/processes.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const { bunBinary } = (await import(new URL('../scripts/bun-binary.mjs', import.meta.url).href)) as {
  bunBinary(): string
}
/** A folder where webpack is installed. */
const bundlers = process.env['AGENT_CONTEXT_BUNDLERS']

const USE = `
async function use() {
  const manager = new ContextManager({ contextDir: require('node:path').join(process.cwd(), 'contexts') })
  const path = await manager.saveContext('search', {}, ['a result'])
  const { result } = await manager.loadContext(path)
  await manager.close()
  console.log(JSON.stringify({ result, tools: contextTools(manager).length }))
}
use()
`
const ESM = `
import { createRequire } from 'node:module'
import { ContextManager } from 'agent-context'
import { contextTools } from 'agent-context/tools'
const require = createRequire('/')
${USE}`
const CJS = `
const { ContextManager } = require('agent-context')
const { contextTools } = require('agent-context/tools')
${USE}`
const USED = { result: ['a result'], tools: 3 }
const NEXT_APPLICATION = {
  'next.config.mjs': `
export default {
  output: 'standalone',
  serverExternalPackages: ['agent-context'],
  turbopack: { root: new URL('..', import.meta.url).pathname },
}`,
  'app/layout.js': 'export default ({ children }) => <html><body>{children}</body></html>',
  'app/page.js': `
import { ContextManager } from 'agent-context'
import { contextTools } from 'agent-context/tools'
export default async function Page() {
  const manager = new ContextManager({ contextDir: process.cwd() + '/contexts' })
  const path = await manager.saveContext('search', {}, ['a result'])
  const { result } = await manager.loadContext(path)
  await manager.close()
  return <p>{JSON.stringify({ result, tools: contextTools(manager).length })}</p>
}`,
}
const BUNDLED = /a bundler copied its code out of the package\. Mark the package as external/

/** An application in an empty directory, with the files of the package in its node_modules. */
const inApplication = (body: (directory: string) => Promise<void>): (() => Promise<void>) =>
  inDirectory(async (directory) => {
    const installed = join(directory, 'node_modules/agent-context')
    mkdirSync(installed, { recursive: true })
    for (const name of ['dist', 'index.d.ts', 'native.cjs', 'package.json']) {
      cpSync(join(root, name), join(installed, name), { recursive: true })
    }
    for (const name of readdirSync(root).filter((name) => name.endsWith('.node'))) {
      symlinkSync(join(root, name), join(installed, name))
    }
    writeFileSync(join(directory, 'package.json'), '{ "private": true }')
    writeFileSync(join(directory, 'app.mjs'), ESM)
    writeFileSync(join(directory, 'app.cjs'), CJS)
    await body(directory)
  })

interface Ran {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs a program in a directory; without parameters that are scripts it is one that was compiled. */
function execute(directory: string, command: string, parameters: readonly string[]): Ran {
  const { status, stdout, stderr, error } = spawnSync(command, parameters, { cwd: directory, encoding: 'utf8' })
  return { status, stdout: stdout ?? '', stderr: `${stderr}${error?.message ?? ''}` }
}

const runScript = (directory: string, script: string): Ran =>
  execute(directory, process.execPath, [...('Deno' in globalThis ? ['run', '--allow-all'] : []), script])

function works({ status, stdout, stderr }: Ran): void {
  assert.equal(status, 0, stderr.slice(-2000))
  assert.deepEqual(JSON.parse(stdout), USED)
}

function saysThatItIsBundled({ status, stderr }: Ran): void {
  assert.notEqual(status, 0)
  holds(BUNDLED.test(stderr), stderr.slice(-2000))
  holds(!/npm has a bug/.test(stderr), 'npm is blamed')
}

describe('an application', () => {
  for (const script of ['app.mjs', 'app.cjs']) {
    test(
      `${script} uses both entries`,
      PATIENT,
      inApplication(async (directory) => works(runScript(directory, script))),
    )
  }
})

describe('the compiler', () => {
  /** What is taken from CommonJS is used in ESM: both see one declaration of a class. */
  const SOURCES = {
    'tools.cts': `
import { ContextManager, type ContextPointer } from 'agent-context'
import { contextTools, type ContextTools } from 'agent-context/tools'
export const toolsOf = (manager: ContextManager): ContextTools => contextTools(manager)
export const pointersOf = (manager: ContextManager): ContextPointer[] => manager.getAllPointers()
export const make = (): ContextManager => new ContextManager()
`,
    'app.mts': `
import { ContextManager } from 'agent-context'
import { contextTools } from 'agent-context/tools'
import { make, pointersOf, toolsOf } from './tools.cjs'
const manager: ContextManager = make()
export const all = [toolsOf(new ContextManager()), contextTools(manager), pointersOf(manager)]
// @ts-expect-error there is no default export
import nothing from 'agent-context'
// @ts-expect-error types are not any
export const wrong: string = manager.size
export { nothing }
`,
  }
  const SYSTEMS: Record<string, ts.CompilerOptions> = {
    node16: { module: ts.ModuleKind.Node16, moduleResolution: ts.ModuleResolutionKind.Node16 },
    nodenext: { module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext },
    bundler: { module: ts.ModuleKind.Preserve, moduleResolution: ts.ModuleResolutionKind.Bundler },
  }
  for (const [name, options] of Object.entries(SYSTEMS)) {
    test(
      `accepts imports of ESM and CommonJS with ${name}`,
      PATIENT,
      inApplication(async (directory) => {
        const files = Object.entries(SOURCES).map(([file, text]) => {
          writeFileSync(join(directory, file), text)
          return join(directory, file)
        })
        const program = ts.createProgram(files, {
          ...options,
          strict: true,
          noEmit: true,
          target: ts.ScriptTarget.ES2022,
          typeRoots: [join(root, 'node_modules/@types')],
          types: ['node'],
        })
        const problems = ts
          .getPreEmitDiagnostics(program)
          .map(({ file, messageText }) => `${file?.fileName}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`)
        assert.deepEqual(problems, [])
      }),
    )
  }
})

describe('esbuild', () => {
  const bundle = (directory: string, options: BuildOptions): Promise<unknown> =>
    build({ bundle: true, platform: 'node', absWorkingDir: directory, logLevel: 'silent', ...options })

  for (const format of ['esm', 'cjs'] as const) {
    const entry = format === 'esm' ? 'app.mjs' : 'app.cjs'
    const outfile = format === 'esm' ? 'bundle.mjs' : 'bundle.cjs'

    test(
      `leaves the package external (${format})`,
      PATIENT,
      inApplication(async (directory) => {
        await bundle(directory, { entryPoints: [entry], outfile, format, external: ['agent-context'] })
        works(runScript(directory, outfile))
      }),
    )

    test(
      `bundles the package, and the error says so (${format})`,
      PATIENT,
      inApplication(async (directory) => {
        await bundle(directory, { entryPoints: [entry], outfile, format })
        saysThatItIsBundled(runScript(directory, outfile))
      }),
    )
  }
})

describe('Rollup', () => {
  test(
    'leaves the package external',
    PATIENT,
    inApplication(async (directory) => {
      const bundle = await rollup({ input: join(directory, 'app.mjs'), external: [/^agent-context/, /^node:/] })
      await bundle.write({ file: join(directory, 'bundle.mjs'), format: 'es' })
      await bundle.close()
      works(runScript(directory, 'bundle.mjs'))
    }),
  )
})

describe('webpack', { skip: bundlers === undefined && 'AGENT_CONTEXT_BUNDLERS names no folder' }, () => {
  type Webpack = (
    options: object,
    done: (error: Error | null, stats?: { toString(options: object): string }) => void,
  ) => void

  const bundle = (directory: string, externals: object): Promise<void> => {
    const webpack = createRequire(join(bundlers ?? '', 'package.json'))('webpack') as Webpack
    return new Promise((resolve, reject) =>
      webpack(
        {
          mode: 'development',
          devtool: false,
          target: 'node20',
          context: directory,
          entry: './app.mjs',
          externals,
          output: { path: directory, filename: 'bundle.cjs' },
        },
        (error, stats) => {
          const errors = stats?.toString({ all: false, errors: true }) ?? ''
          if (error !== null || errors !== '') {
            reject(error ?? new Error(errors))
          } else {
            resolve()
          }
        },
      ),
    )
  }

  test(
    'leaves the package external',
    PATIENT,
    inApplication(async (directory) => {
      await bundle(
        directory,
        [/^agent-context(?:\/|$)/].map(
          (name) =>
            ({ request = '' }: { request?: string }, done: (error?: null, result?: string) => void) =>
              name.test(request) ? done(null, `commonjs ${request}`) : done(),
        ),
      )
      works(runScript(directory, 'bundle.cjs'))
    }),
  )

  test(
    'bundles the package, and the error says so',
    PATIENT,
    inApplication(async (directory) => {
      await bundle(directory, {})
      // webpack writes the package's path into the bundle: where it was built, it finds the addon.
      works(runScript(directory, 'bundle.cjs'))
      renameSync(join(directory, 'node_modules'), join(directory, 'elsewhere'))
      saysThatItIsBundled(runScript(directory, 'bundle.cjs'))
    }),
  )
})

/** Its build takes long, and runs on Node.js whatever runs the tests. */
const nextProgram = join(bundlers ?? '', 'node_modules/next/dist/bin/next')
const nextIsMissing = bundlers === undefined || !existsSync(nextProgram)
const runsNext = process.release.name === 'node' && process.versions.node.startsWith('24.') && !('Bun' in globalThis)

describe('Next.js', {
  skip: nextIsMissing || !runsNext ? 'needs Node.js 24, and Next.js where webpack is' : false,
}, () => {
  test(
    'leaves the package external, and copies the addon into a standalone build',
    PATIENT,
    inApplication(async (directory) => {
      // Next.js takes packages from below its root only.
      const folder = mkdtempSync(join(realpathSync(bundlers ?? ''), 'next-'))
      try {
        const installed = join(folder, 'node_modules/agent-context')
        cpSync(join(directory, 'node_modules/agent-context'), installed, { recursive: true })
        for (const name of readdirSync(installed).filter((name) => name.endsWith('.node'))) {
          rmSync(join(installed, name))
          cpSync(join(root, name), join(installed, name))
        }
        mkdirSync(join(folder, 'app'))
        writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }')
        for (const [name, source] of Object.entries(NEXT_APPLICATION)) {
          writeFileSync(join(folder, name), source)
        }
        const built = execute(folder, process.execPath, [nextProgram, 'build'])
        assert.equal(built.status, 0, `${built.stdout}\n${built.stderr}`)
        const page = readFileSync(join(folder, '.next/server/app/index.html'), 'utf8')
        holds(page.includes(JSON.stringify(USED).replaceAll('"', '&quot;')), page)
        const copied = readdirSync(join(folder, '.next/standalone'), { recursive: true, encoding: 'utf8' })
        holds(
          copied.some((name) => /agent-context.*\.node$/.test(name)),
          'the addon was not copied',
        )
      } finally {
        rmSync(folder, { recursive: true, force: true })
      }
    }),
  )
})

/** Its package loads the program from another host while it is installed. */
const electronFolder = join(bundlers ?? '', 'node_modules/electron')
const electronIsMissing = bundlers === undefined || !existsSync(join(electronFolder, 'path.txt'))

describe('Electron', { skip: electronIsMissing && 'needs Electron, with its program, where webpack is' }, () => {
  for (const script of ['app.mjs', 'app.cjs']) {
    test(
      `${script} loads the addon`,
      PATIENT,
      inApplication(async (directory) => {
        const electron = createRequire(join(bundlers ?? '', 'package.json'))('electron') as string
        const { status, stdout, stderr } = spawnSync(electron, [script], {
          cwd: directory,
          encoding: 'utf8',
          env: { ...process.env, ELECTRON_RUN_AS_NODE: '1' },
        })
        works({ status, stdout, stderr })
      }),
    )
  }
})

describe('bun build --compile', () => {
  test(
    'embeds the addon',
    PATIENT,
    inApplication(async (directory) => {
      const outfile = process.platform === 'win32' ? 'app.exe' : 'app'
      const built = execute(directory, bunBinary(), ['build', '--compile', 'app.mjs', '--outfile', outfile])
      assert.equal(built.status, 0, built.stderr)
      renameSync(join(directory, 'node_modules'), join(directory, 'elsewhere'))
      works(execute(directory, join(directory, outfile), []))
    }),
  )
})
