// A minimal Debian beside this system: what a slim image has, and nothing else.
import { execFileSync, spawnSync } from 'node:child_process'
import { copyFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { runPrograms } from './installs.mjs'

const SUITE = 'bookworm'
/** What the images of Node.js 26 add, because its binary needs it. */
const LIBRARIES = 'libatomic1'
const ENTER = `root=$1; shift
mount --bind /proc "$root/proc" && mount --rbind /dev "$root/dev" || exit 1
exec chroot "$root" /usr/bin/env -C /opt/release-check/project HOME=/root "$@"`

/**
 * Runs the programs of an installed project below another root.
 *
 * @param {string | undefined} root the folder, or "new" for one that is made and removed again
 * @returns {string[]} what was seen, or why nothing was run
 */
export function runInDebian(root, project, programs, runtimes) {
  if (root === undefined) {
    return ['Debian slim: SKIPPED, not run. Name a root with --debian FOLDER, or make one with --debian new.']
  }
  if (process.platform !== 'linux' || process.getuid() !== 0) {
    throw new Error('--debian needs Linux, and root: chroot(2) is for root only.')
  }
  const isNew = root === 'new'
  const folder = isNew ? makeRoot() : resolve(root)
  const place = join(folder, 'opt', 'release-check')
  try {
    mkdirSync(place, { recursive: true })
    cpSync(project, join(place, 'project'), { recursive: true, filter: (path) => !/\.npm-cache|\.tools/.test(path) })
    const inside = runtimes.map(({ title, command, parameters }, index) => {
      const name = `${index}-${basename(command)}`
      copyFileSync(realpathSync(command), join(place, name))
      return { title: `${title} in Debian slim`, command: `/opt/release-check/${name}`, parameters }
    })
    // Bun needs /proc and /dev: mounted for the process only.
    const below = (command, parameters) => [
      'unshare',
      ['--mount', 'sh', '-c', ENTER, 'sh', folder, command, ...parameters],
    ]
    return inside.flatMap((runtime) => {
      const { status, stderr } = spawnSync(...below(runtime.command, ['--version']), { encoding: 'utf8' })
      return status === 0
        ? runPrograms(project, programs, [runtime], below)
        : [`${runtime.title}: SKIPPED, not run. The runtime itself does not start: ${stderr.trim()}`]
    })
  } finally {
    rmSync(isNew ? folder : place, { recursive: true, force: true })
  }
}

function makeRoot() {
  if (spawnSync('debootstrap', ['--version']).status !== 0) {
    throw new Error('--debian new needs debootstrap: apt-get install debootstrap.')
  }
  const folder = mkdtempSync('/var/tmp/debian-slim-')
  try {
    execFileSync('debootstrap', ['--variant=minbase', `--include=${LIBRARIES}`, SUITE, folder], {
      stdio: ['ignore', 'ignore', 'inherit'],
    })
  } catch (error) {
    rmSync(folder, { recursive: true, force: true })
    throw error
  }
  if (!existsSync(join(folder, 'usr', 'bin', 'env'))) {
    throw new Error(`debootstrap left no system in ${folder}.`)
  }
  return folder
}
