/** What a release publishes: manifests, notices, the bill of materials, and tarballs of the same bytes. */

import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { TARGETS } from '../lib/native/addon-error.ts'
import { holds, inDirectory, PATIENT } from './support/processes.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const script = (name: string): Promise<unknown> => import(new URL(`../scripts/${name}`, import.meta.url).href)

interface Manifest {
  name: string
  version: string
  files: string[]
  optionalDependencies?: Record<string, string>
  scripts?: object
  devDependencies?: object
  napi?: object
  os?: string[]
  cpu?: string[]
  libc?: string[]
  main?: string
}
interface Platform {
  target: string
  name: string
  platform: string
  addon: string
}
interface Component {
  ecosystem: string
  name: string
  version: string
  licence: string
  texts: string[]
}
interface Packed {
  path: string
  bytes: number
  sha256: string
  files: string[]
}

const { platformsOf, publishedManifest, platformManifest, platformNamed } = (await script('release/packages.mjs')) as {
  platformsOf(manifest: Manifest): Platform[]
  publishedManifest(manifest: Manifest): Manifest
  platformManifest(manifest: Manifest, platform: Platform): Manifest
  platformNamed(manifest: Manifest, platform: string): Platform
}
const { noticesOf, billOf } = (await script('release/notices.mjs')) as {
  noticesOf(title: string, components: readonly Component[]): string
  billOf(manifest: Manifest, components: readonly Component[]): string
}
const { linkedCrates, bundledPackages } = (await script('release/components.mjs')) as {
  linkedCrates(metadata: object): { name: string }[]
  bundledPackages(root: string, names: readonly string[]): Component[]
}
const { stageMain, stagePlatform, pack } = (await script('release/stage.mjs')) as {
  stageMain(root: string, folder: string, parts: object): void
  stagePlatform(root: string, folder: string, parts: object): void
  pack(folder: string, destination: string): Packed
}
const { BUNDLED, checkBundled } = (await script('bundled-packages.mjs')) as {
  BUNDLED: Record<string, string[]>
  checkBundled(folder: string, inputs: readonly string[]): void
}

const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest

describe('manifests', () => {
  test('the main package depends on each platform in exactly its version', () => {
    const published = publishedManifest(manifest)
    assert.deepEqual(
      published.optionalDependencies,
      Object.fromEntries(TARGETS.map((target) => [`agent-context-${target}`, manifest.version])),
    )
  })

  test('the main package has nothing of a clone', () => {
    const published = publishedManifest(manifest)
    assert.deepEqual([published.scripts, published.devDependencies, published.napi], [undefined, undefined, undefined])
    assert.ok(!published.files.some((name) => name.endsWith('.node')))
    assert.ok(published.files.includes('THIRD-PARTY-NOTICES'))
  })

  test('a platform package is for one system, processor and C library', () => {
    const musl = platformManifest(manifest, platformNamed(manifest, 'linux-arm64-musl'))
    assert.deepEqual([musl.os, musl.cpu, musl.libc], [['linux'], ['arm64'], ['musl']])
    assert.equal(musl.main, 'agent-context.linux-arm64-musl.node')
    const glibc = platformManifest(manifest, platformNamed(manifest, 'linux-x64-gnu'))
    assert.deepEqual(glibc.libc, ['glibc'])
    const windows = platformManifest(manifest, platformNamed(manifest, 'win32-x64-msvc'))
    assert.deepEqual([windows.os, windows.libc], [['win32'], undefined])
  })

  test('the platforms are those that the loader knows', () => {
    assert.deepEqual(
      platformsOf(manifest)
        .map(({ platform }) => platform)
        .sort(),
      [...TARGETS].sort(),
    )
  })

  test('an unknown target is refused', () => {
    const unknown = { ...manifest, napi: { targets: ['riscv64gc-unknown-linux-gnu'] } }
    assert.throws(() => platformsOf(unknown), /riscv64gc-unknown-linux-gnu/)
    assert.throws(() => platformNamed(manifest, 'plan9-x64'), /There is no package for plan9-x64/)
  })
})

describe('components', () => {
  const crate = (name: string, kind = 'lib'): object => ({ id: name, name, targets: [{ kind: [kind] }] })
  const dependency = (name: string, kind: string | null = null): object => ({ pkg: name, dep_kinds: [{ kind }] })

  test('are the crates that are linked: not what builds or tests, not macros and what they use', () => {
    const metadata = {
      packages: [
        crate('root'),
        crate('linked'),
        crate('below'),
        crate('macro', 'proc-macro'),
        crate('tool'),
        crate('parser'),
      ],
      resolve: {
        root: 'root',
        nodes: [
          { id: 'root', deps: [dependency('linked'), dependency('macro'), dependency('tool', 'dev')] },
          { id: 'linked', deps: [dependency('below'), dependency('tool', 'build')] },
          { id: 'macro', deps: [dependency('parser')] },
          { id: 'below', deps: [dependency('root')] },
          { id: 'tool', deps: [] },
          { id: 'parser', deps: [] },
        ],
      },
    }
    assert.deepEqual(
      linkedCrates(metadata)
        .map(({ name }) => name)
        .sort(),
      ['below', 'linked', 'root'],
    )
  })

  test('the bundled packages are those in dist/, each with its licence', () => {
    const names = Object.values(BUNDLED).flat()
    const components = bundledPackages(root, names)
    assert.deepEqual(components.map(({ name }) => name).sort(), [...names].sort())
    for (const { name, texts } of components) {
      holds(texts.join().includes('Copyright'), name)
    }
  })

  test('a package that is bundled without being listed is refused', () => {
    const listed = (BUNDLED['cli'] ?? []).map((name) => `node_modules/${name}/index.js`)
    checkBundled('cli', ['lib/cli/main.ts', ...listed])
    assert.throws(() => checkBundled('cli', [...listed, '../node_modules/@scope/left-pad/x.js']), /@scope\/left-pad/)
    assert.throws(() => checkBundled('cli', listed.slice(1)), /correct the list/)
  })

  const COMPONENTS: Component[] = [
    { ecosystem: 'cargo', name: 'one', version: '1.0.0+2', licence: 'MIT/Apache-2.0', texts: ['the same text'] },
    { ecosystem: 'npm', name: '@scope/two', version: '2.0.0', licence: 'MIT', texts: ['the same text'] },
    { ecosystem: 'generic', name: 'SQLite', version: 'in it', licence: 'blessing', texts: ['public domain'] },
  ]

  test('notices name each component, and each text once', () => {
    const notices = noticesOf('Title', COMPONENTS)
    for (const { name, version, licence } of COMPONENTS) {
      holds(notices.includes(`${name} ${version} (${licence})`), name)
    }
    assert.equal(notices.split('the same text').length, 2)
  })

  test('the bill of materials names them by package URL, and is the same for the same components', () => {
    const bill = JSON.parse(billOf(manifest, COMPONENTS)) as {
      bomFormat: string
      serialNumber: string
      components: { purl?: string; licenses: object[] }[]
    }
    assert.equal(bill.bomFormat, 'CycloneDX')
    assert.deepEqual(
      bill.components.map(({ purl }) => purl),
      ['pkg:cargo/one@1.0.0%2B2', 'pkg:npm/%40scope/two@2.0.0', undefined],
    )
    assert.deepEqual(bill.components[0]?.licenses, [{ expression: 'MIT OR Apache-2.0' }])
    assert.match(bill.serialNumber, /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/)
    assert.equal(billOf(manifest, COMPONENTS), billOf(manifest, COMPONENTS))
    assert.notEqual(billOf(manifest, COMPONENTS), billOf(manifest, COMPONENTS.slice(1)))
  })
})

describe('tarballs', () => {
  test(
    'are the same bytes for the same sources, whenever they are packed',
    PATIENT,
    inDirectory(async (directory) => {
      const platform = platformNamed(manifest, 'linux-x64-gnu')
      const packAt = (folder: string, time: Date): Packed[] => {
        const addon = join(directory, `${folder}.node`)
        writeFileSync(addon, 'an addon')
        utimesSync(addon, time, time)
        mkdirSync(join(directory, folder))
        stageMain(root, join(directory, folder, 'main'), { manifest, notices: 'notices' })
        stagePlatform(root, join(directory, folder, 'addon'), { manifest, platform, addon, notices: 'notices' })
        return ['main', 'addon'].map((name) => pack(join(directory, folder, name), join(directory, folder)))
      }
      const first = packAt('first', new Date('2020-01-01'))
      const second = packAt('second', new Date('2026-01-01'))
      assert.deepEqual(
        first.map(({ sha256 }) => sha256),
        second.map(({ sha256 }) => sha256),
      )
      const [main, addon] = first
      holds(main !== undefined)
      holds(main.files.includes('dist/index.cjs'))
      holds(main.files.includes('THIRD-PARTY-NOTICES'))
      assert.deepEqual(
        main.files.filter((path) => path.endsWith('.node')),
        [],
      )
      assert.deepEqual(addon?.files.sort(), [
        'LICENSE',
        'README.md',
        'THIRD-PARTY-NOTICES',
        'agent-context.linux-x64-gnu.node',
        'package.json',
      ])
    }),
  )
})

describe('the command line of release:dry', () => {
  test('refuses what it does not know', async () => {
    const { readOptions } = (await script('release/dry-run-options.mjs')) as {
      readOptions(parameters: readonly string[]): object
    }
    assert.deepEqual(readOptions(['--addon', 'x.node', '--pack-only']), {
      addon: 'x.node',
      out: 'target/npm',
      packOnly: true,
      runtimes: 'target/release-tools',
    })
    assert.throws(() => readOptions(['--adon', 'x.node']), /Unknown option --adon/)
    assert.throws(() => readOptions(['--addon', '--pack-only']), /--addon needs a value/)
  })
})
