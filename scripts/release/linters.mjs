// publint and "are the types wrong" on the packed package.
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'

const TOOLS = { publint: '0.3.25', '@arethetypeswrong/cli': '0.18.5' }
const COMMANDS = [
  { title: 'publint --strict', bin: 'publint', parameters: ['run', '--strict'] },
  // Sub-paths are not resolved by the algorithm of TypeScript before 4.7.
  { title: 'attw (node16, bundler)', bin: 'attw', parameters: ['--profile', 'node16', '--no-emoji'] },
]

/** Runs the linters, which are installed into the folder when they are not there. Throws with their output when one complains. */
export function lint(folder, tarball) {
  if (!Object.keys(TOOLS).every((name) => existsSync(join(folder, 'node_modules', name)))) {
    mkdirSync(folder, { recursive: true })
    execFileSync(
      'npm',
      [
        'install',
        '--prefix',
        folder,
        '--no-save',
        '--no-package-lock',
        '--ignore-scripts',
        ...Object.entries(TOOLS).map((tool) => tool.join('@')),
      ],
      { stdio: ['ignore', 'ignore', 'inherit'], shell: process.platform === 'win32' },
    )
  }
  return COMMANDS.map(({ title, bin, parameters }) => {
    const { status, stdout, stderr } = spawnSync(join(folder, 'node_modules', '.bin', bin), [...parameters, tarball], {
      encoding: 'utf8',
      shell: process.platform === 'win32',
    })
    if (status !== 0) {
      throw new Error(`${title} complains:\n${stdout}${stderr}`)
    }
    return `${title}: clean`
  })
}
