// The command line of `npm run release:dry`.

export const USAGE = `Usage: npm run release:dry -- [options]

  --addon FILE         the addon of this machine; without it, one is built for release
  --runtimes FOLDER    where node_modules has Node.js, Deno and the linters; what is missing is installed there
  --out FOLDER         where the packages go (target/npm)
  --debian FOLDER      a Debian root to run in as well (root only); "new" makes one with debootstrap
  --pack-only          stop when the packages are made and linted`

const NAMES = { '--addon': 'addon', '--runtimes': 'runtimes', '--out': 'out', '--debian': 'debian' }

/**
 * Throws an `Error` for parameters that it does not know.
 *
 * @param {readonly string[]} parameters
 * @returns {{ addon?: string, runtimes: string, out: string, debian?: string, packOnly: boolean }}
 */
export function readOptions(parameters) {
  const options = { runtimes: 'target/release-tools', out: 'target/npm', packOnly: false }
  for (let index = 0; index < parameters.length; index++) {
    const parameter = parameters[index]
    if (parameter === '--pack-only') {
      options.packOnly = true
      continue
    }
    const name = NAMES[parameter]
    if (name === undefined) {
      throw new Error(`Unknown option ${parameter}.`)
    }
    index++
    const value = parameters[index]
    if (value === undefined || value === '' || value.startsWith('--')) {
      throw new Error(`${parameter} needs a value.`)
    }
    options[name] = value
  }
  return options
}
