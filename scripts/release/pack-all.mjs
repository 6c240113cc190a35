// Makes the packages of a release from the addons of all platforms: node scripts/release/pack-all.mjs --addons FOLDER --out FOLDER
// The entries are built before: `node scripts/build.mjs --entry-only`.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { BUNDLED } from '../bundled-packages.mjs'
import { bundledPackages, cratesOf } from './components.mjs'
import { billOf, noticesOf } from './notices.mjs'
import { platformsOf } from './packages.mjs'
import { pack, stageMain, stagePlatform, sumsOf } from './stage.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
const { values } = parseArgs({ options: { addons: { type: 'string' }, out: { type: 'string' } } })
if (values.addons === undefined || values.out === undefined) {
  console.error('Usage: node scripts/release/pack-all.mjs --addons FOLDER --out FOLDER')
  process.exit(2)
}
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const out = resolve(values.out)
rmSync(out, { recursive: true, force: true })
mkdirSync(out, { recursive: true })

const staged = join(out, 'staged')
const bundled = bundledPackages(root, Object.values(BUNDLED).flat())
const title = `${manifest.name} ${manifest.version}`
const files = []
// Platforms come first: the main package names them.
for (const platform of platformsOf(manifest)) {
  const crates = cratesOf(root, platform.target)
  const folder = join(staged, platform.platform)
  const notices = noticesOf(`Third-party software in the addon of ${title}`, crates)
  stagePlatform(root, folder, { manifest, platform, addon: resolve(values.addons, platform.addon), notices })
  files.push(pack(folder, out).path)
  files.push(join(out, `${manifest.name}-${manifest.version}-${platform.platform}.cdx.json`))
  writeFileSync(files.at(-1), billOf(manifest, [...crates, ...bundled]))
}
stageMain(root, join(staged, 'main'), { manifest, notices: noticesOf(`Third-party software in ${title}`, bundled) })
files.push(pack(join(staged, 'main'), out).path)
rmSync(staged, { recursive: true, force: true })
writeFileSync(join(out, 'SHA256SUMS'), sumsOf(files))
console.log(files.map((path) => basename(path)).join('\n'))
