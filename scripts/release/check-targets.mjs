// `just targets`: runs `cargo check` on the addon's Rust code for the other systems that releases have addons for. The standard
// libraries come from rustup. The C code in the addon is not compiled, because it needs each system's headers: a script replaces the C compiler.
import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))
const tools = join(root, 'target', 'release-tools')
/** Replaces compiler and archiver: writes empty objects and archives, because `cargo check` links nothing. */
const EMPTY = `#!/bin/sh
for parameter in "$@"; do
  case "$previous" in -o) : >"$parameter" ;; esac
  case "$parameter" in
    -Fo?*) : >"\${parameter#-Fo}" ;;
    -out:*) : >"\${parameter#-out:}" ;;
    *.a | *.lib) : >"$parameter" ;;
  esac
  previous=$parameter
done
`

const { napi } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const own = /^host: (.*)$/m.exec(execFileSync('rustc', ['-vV'], { encoding: 'utf8' }))?.[1]
const wanted = process.argv.slice(2)
const targets = (wanted.length > 0 ? wanted : napi.targets).filter((target) => target !== own)

mkdirSync(tools, { recursive: true })
const compiler = join(tools, 'no-c-compiler')
writeFileSync(compiler, EMPTY)
chmodSync(compiler, 0o755)
const withoutC = targets.flatMap((target) =>
  ['CC', 'CXX', 'AR'].map((name) => [`${name}_${target.replaceAll('-', '_')}`, compiler]),
)

execFileSync('rustup', ['target', 'add', ...targets], { stdio: ['ignore', 'ignore', 'inherit'] })
const { status } = spawnSync(
  'cargo',
  ['check', '--locked', '--lib', '--package', 'agent-context', ...targets.map((target) => `--target=${target}`)],
  { cwd: root, stdio: 'inherit', env: { ...process.env, ...Object.fromEntries(withoutC) } },
)
if (status !== 0) {
  process.exit(status ?? 1)
}
console.log(`checked without C: ${targets.join(', ')}`)
