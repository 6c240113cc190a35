import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import * as everything from '../dist/index.js'
import { deadLinksOf } from './support/documents.ts'
import { holds, inDirectory, PATIENT, run } from './support/processes.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
/** The adapters, and which modules of frameworks they load. */
const ADAPTERS: Record<string, readonly string[]> = {
  'ai-sdk': [],
  anthropic: [],
  'claude-agent': ['zod'],
  deepagents: [],
  langchain: ['langchain'],
  langgraph: ['@langchain/langgraph-checkpoint'],
  mcp: [],
  'openai-agents': [],
  mastra: ['@mastra/core/storage'],
  opencode: ['zod'],
  pi: [],
  strands: [],
}
/** The entries that know no framework. */
const OWN_ENTRIES = ['.', './tools', './testing']
const DOCUMENTED = [
  'ContextHistory',
  'ContextManager',
  'ContextStore',
  'DEFAULT_CONTEXT_DIRECTORY',
  'DEFAULT_CONTEXT_STORE',
  'DEFAULT_HISTORY_PATH',
  'DEFAULT_PERSIST_THRESHOLD',
  'DEFAULT_REPO_MEMORY_ROOT',
  'DEFAULT_STATE_PATH',
  'RepoMemory',
  'StateStore',
  'autoRecord',
  'contextStoreTools',
  'contextTools',
  'copyStorage',
  'createToolRecorder',
  'readContextTool',
  'redact',
  'redactStream',
  'redactValue',
  'summariseStep',
  'toText',
]

interface Entry {
  types: { require: string; default: string }
  require: string
  default: string
}

interface Manifest {
  name: string
  type: string
  license: string
  engines: { node: string }
  repository: { url: string }
  homepage: string
  bugs: { url: string }
  sideEffects: boolean
  publishConfig: object
  optionalDependencies?: object
  exports: Record<string, unknown>
  files: string[]
  main: string
  types: string
  scripts: Record<string, string>
  peerDependencies: Record<string, string>
  peerDependenciesMeta: Record<string, { optional: boolean }>
  dependencies?: Record<string, string>
}

const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest
const runtimes = [process.execPath, ...(process.env['AGENT_CONTEXT_RUNTIMES'] ?? '').split(':').filter(Boolean)]

describe('loading', () => {
  for (const executable of runtimes) {
    for (const script of ['load-import.mjs', 'load-require.cjs', 'load-name.mjs']) {
      test(
        `${script} works on ${executable}`,
        PATIENT,
        inDirectory(async (contextDir) => {
          const [line = ''] = await run(script, [contextDir], { executable })
          assert.deepEqual(JSON.parse(line), { names: DOCUMENTED, result: [1, 'two', null] })
        }),
      )
    }
  }

  test('only documented names are exported', () => {
    assert.deepEqual(Object.keys(everything).sort(), DOCUMENTED)
    assert.equal(everything.DEFAULT_CONTEXT_DIRECTORY, '~/.agent/context')
    assert.equal(everything.DEFAULT_PERSIST_THRESHOLD, 32_768)
  })

  test('only documented members are public', () => {
    const members = Object.getOwnPropertyNames(everything.ContextManager.prototype).filter(
      (name) => name !== 'constructor',
    )
    assert.deepEqual(
      members.sort(),
      [
        'clear',
        'clearContextDir',
        'clearContexts',
        'clearPointers',
        'close',
        'endSession',
        'findContext',
        'forget',
        'getAllPointers',
        'getContextDir',
        'getLatestPointers',
        'getPointersForQuery',
        'getPointersForTask',
        'grepContexts',
        'importRecord',
        'listContexts',
        'loadContext',
        'loadContexts',
        'offload',
        'offloadAll',
        'offloadValue',
        'pin',
        'readContext',
        'recordStream',
        'resume',
        'saveContext',
        'search',
        'selectContexts',
        'selectRelevantContexts',
        'sessionId',
        'sessions',
        'size',
        'stats',
        'sweep',
        'unpin',
      ].sort(),
    )
    const ofStore = Object.getOwnPropertyNames(everything.ContextStore.prototype).filter(
      (name) => name !== 'constructor',
    )
    assert.deepEqual(ofStore.sort(), [
      'agent',
      'close',
      'contextFiles',
      'housekeep',
      'link',
      'list',
      'path',
      'read',
      'related',
      'search',
      'sessionId',
      'stats',
      'supersede',
      'update',
      'verify',
      'write',
    ])
    const ofMemory = Object.getOwnPropertyNames(everything.RepoMemory.prototype).filter(
      (name) => name !== 'constructor',
    )
    assert.deepEqual(ofMemory.sort(), [
      'appendSummary',
      'buildContextFromMemory',
      'close',
      'contextPack',
      'directory',
      'getRepoMemory',
      'remove',
      'repoHash',
      'repoMap',
      'stats',
      'symbols',
      'upsertConvention',
      'upsertDecision',
      'upsertNote',
      'workflow',
      'workspace',
    ])
    assert.deepEqual(Object.keys(Object.getOwnPropertyDescriptors(everything.RepoMemory)).sort(), [
      'length',
      'migrate',
      'name',
      'open',
      'prototype',
      'repoHash',
    ])
    const store = new everything.ContextStore({ agent: 'a', path: '/virtual' })
    assert.deepEqual(Reflect.ownKeys(store), [])
    assert.equal(typeof store[Symbol.asyncDispose], 'function')
    const manager = new everything.ContextManager()
    assert.deepEqual(Reflect.ownKeys(manager), [])
    assert.equal(typeof manager[Symbol.asyncDispose], 'function')
  })
})

describe('package.json', () => {
  test('names entries for import and require, with types', () => {
    assert.equal(manifest.name, 'agent-context')
    assert.equal(manifest.type, 'module')
    assert.equal(manifest.license, 'MIT')
    const adapters = Object.keys(ADAPTERS).map((name) => `./${name}`)
    assert.deepEqual(Object.keys(manifest.exports).sort(), ['./package.json', ...OWN_ENTRIES, ...adapters].sort())
    for (const name of [...OWN_ENTRIES, ...adapters]) {
      const { types, require: required, default: script } = manifest.exports[name] as Entry
      assert.equal(
        Object.keys(manifest.exports[name] as Entry)[0],
        'types',
        'TypeScript takes the first condition that fits',
      )
      for (const path of [script, required, types.require, types.default]) {
        holds(existsSync(join(root, path)), path)
      }
    }
    for (const path of [manifest.main, manifest.types]) {
      holds(existsSync(join(root, path)), path)
    }
  })

  test('has frameworks as peers that need not be there', () => {
    const peers = Object.keys(manifest.peerDependencies)
    holds(peers.length > 0)
    const optional = Object.entries(manifest.peerDependenciesMeta).filter(([, { optional }]) => optional)
    assert.deepEqual(optional.map(([name]) => name).sort(), peers.sort())
    const loaded = Object.values(ADAPTERS)
      .flat()
      .map((module) => /^(?:@[^/]+\/)?[^/]+/.exec(module)?.[0] ?? '')
    assert.deepEqual(
      loaded.filter((name) => !peers.includes(name)),
      [],
    )
  })

  test('asks for the Node that can require() it', () => {
    assert.equal(manifest.engines.node, '^20.19.0 || >=22.12.0')
  })

  test('says where it comes from, and that its modules have no effects but their exports', () => {
    assert.match(manifest.repository.url, /^git\+https:\/\/.+\.git$/)
    const page = manifest.repository.url.replace(/^git\+|\.git$/g, '')
    assert.equal(manifest.homepage, `${page}#readme`)
    assert.equal(manifest.bugs.url, `${page}/issues`)
    assert.equal(manifest.sideEffects, false)
    assert.deepEqual(manifest.publishConfig, { access: 'public', provenance: true })
  })

  test('a clone needs no package that a release publishes', () => {
    assert.equal(manifest.optionalDependencies, undefined)
  })

  test('runs nothing when a user installs it', () => {
    for (const script of ['preinstall', 'install', 'postinstall']) {
      assert.equal(manifest.scripts[script], undefined, script)
    }
    holds(!existsSync(join(root, 'binding.gyp')), 'npm would run node-gyp')
    assert.deepEqual(manifest.dependencies ?? {}, {})
  })
})

describe('npm pack', () => {
  const pack = (): string[] => {
    const output = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
      cwd: root,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
      shell: process.platform === 'win32',
    })
    interface Packed {
      files: { path: string }[]
    }
    // An array, or in later npm versions an object by package name.
    const [packed] = Object.values(JSON.parse(output) as Record<string, Packed>)
    return (packed?.files ?? []).map(({ path }) => path)
  }

  test('holds what a user needs', PATIENT, () => {
    const files = pack()
    const needed = ['package.json', 'dist/index.js', 'index.d.ts', 'native.cjs', 'LICENSE', 'README.md', 'CHANGELOG.md']
    assert.deepEqual(
      needed.filter((path) => !files.includes(path)),
      [],
    )
  })

  test('holds whatever its documents link to', PATIENT, () => {
    const files = new Set(pack())
    const documents = [...files].filter((path) => path.endsWith('.md'))
    holds(documents.includes('README.md') && documents.some((path) => path.startsWith('docs/')))
    assert.deepEqual(
      documents.flatMap((path) => deadLinksOf(path, (target) => files.has(target))),
      [],
    )
  })

  test('holds nothing else of the repository', PATIENT, () => {
    const files = pack()
    const inFolders = files.filter((path) => path.includes('/') && !/^(?:dist|docs|plugin)\//.test(path))
    assert.deepEqual(inFolders, [])
    const strange = files.filter(
      (path) => !/^(?:.*\.(?:node|md)|index\.d\.ts|native\.cjs|LICENSE|package\.json)$/.test(path),
    )
    assert.deepEqual(
      strange.filter((path) => !/^(?:dist|plugin)\//.test(path)),
      [],
    )
  })
})

describe('the entries', () => {
  test('import nothing but Node’s modules, the addon, each other’s chunks, and adapters their framework', () => {
    const scripts = readdirSync(join(root, 'dist'), { recursive: true, encoding: 'utf8' }).filter((name) =>
      name.endsWith('.js'),
    )
    const imports = scripts.flatMap((name) => {
      const source = readFileSync(join(root, 'dist', name), 'utf8')
      const imported = [...source.matchAll(/^import\s.*?from\s+["'](.+?)["']/gms)].map(([, imported]) => imported ?? '')
      const ofFramework = ADAPTERS[name.replace(/\.js$/, '')] ?? []
      assert.deepEqual(
        ofFramework.filter((module) => !imported.includes(module)),
        [],
      )
      return imported.filter((module) => !ofFramework.includes(module))
    })
    holds(imports.length > 0)
    assert.deepEqual(
      imports.filter((name) => !/^(?:node:.*|#addon|(?:\.\/chunks|\.)\/chunk-[A-Z0-9]+\.js)$/.test(name)),
      [],
    )
  })

  test('share their modules, and with them one completion queue', PATIENT, async () => {
    await inDirectory(async (contextDir) => {
      const [line = ''] = await run('two-entries.mjs', [contextDir])
      assert.deepEqual(JSON.parse(line), {
        queues: 1,
        shared: ['contextStoreTools', 'contextTools', 'readContextTool', 'toText'],
      })
    })()
  })

  test('have source maps', () => {
    const chunks = readdirSync(join(root, 'dist/chunks')).filter((name) => name.endsWith('.js'))
    const sources = chunks.flatMap((name) => {
      assert.match(readFileSync(join(root, 'dist/chunks', name), 'utf8'), /\/\/# sourceMappingURL=\S+\.js\.map\s*$/)
      const map = JSON.parse(readFileSync(join(root, 'dist/chunks', `${name}.map`), 'utf8')) as {
        sources: string[]
        sourcesContent: string[]
      }
      assert.equal(map.sourcesContent.length, map.sources.length, 'lib/ is not in the package')
      return map.sources
    })
    holds(sources.includes('../../lib/manager/context-manager.ts'))
  })

  test('has types without any', () => {
    const types = readFileSync(join(root, 'index.d.ts'), 'utf8')
    assert.equal(
      readFileSync(join(root, 'dist/index.d.cts'), 'utf8'),
      types,
      'index.d.ts is the record of what is published',
    )
    const ofAdapters = Object.keys(ADAPTERS).map((name) => readFileSync(join(root, `dist/${name}.d.ts`), 'utf8'))
    for (const text of [types, ...ofAdapters]) {
      // A member may be called so.
      assert.doesNotMatch(text.replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, ''), /\bany\b(?!\?:)/)
    }
  })

  test('has an addon beside it', () => {
    holds(readdirSync(root).some((name) => name.startsWith('agent-context.') && name.endsWith('.node')))
  })
})
