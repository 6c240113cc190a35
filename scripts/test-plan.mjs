// Which commands `npm test` runs, by its parameters.
import { bunBinary } from './bun-binary.mjs'

export const USAGE = `Usage:
  npm test                                  everything: Rust, Node, Bun (without the longest files, and those of databases and of Node.js), types
  npm test -- __test__/NAME.test.ts …       these files, on Node and on Bun
  npm test -- --rust FILTER                 the core's tests whose names contain FILTER`

/** Storms of processes, and secrets through every entry. */
const LONGEST = /\.(?:canary|storm)\.test\.ts$/

/** Databases: `just fleet` runs them on Bun. */
const DATABASE = /\/fleet\.|\.database\.test\.ts$/

/** The program `agent-context`, the code of the documentation and the packages of a release, which are made and run by Node.js. */
const NODE = /\/(?:cli|pages|release)\.(?:[^/]+\.)?test\.ts$/

/**
 * The commands in the order in which failures are cheapest to see; one that is `beside` runs at the same time as the
 * command before it. Throws an `Error` for parameters that it does not know.
 *
 * @param {readonly string[]} parameters those of the command line
 * @param {readonly string[]} tests all test files, relative to the repository, with `/`
 * @returns {{ title: string, command: string, parameters: string[], beside?: boolean }[]}
 */
export function planOf(parameters, tests) {
  const { files, filter } = read(parameters, tests)
  const isWhole = files.length === 0 && filter === undefined
  const selected = isWhole ? tests : files
  // The longest are nearly all work of the core, which is the same on both.
  const leftOut = [LONGEST, DATABASE, NODE]
  const onBun = isWhole ? selected.filter((name) => !leftOut.some((names) => names.test(name))) : selected
  const plan = []
  if (selected.length > 0) {
    plan.push({ title: 'build', command: 'node', parameters: ['scripts/build.mjs', '--release'] })
  }
  if (isWhole) {
    plan.push({ title: 'type tests', command: 'tsc', parameters: ['--noEmit'] })
  }
  const runsRust = isWhole || filter !== undefined
  if (runsRust) {
    const filters = filter === undefined ? [] : [filter]
    plan.push({
      title: 'core without Node-API',
      command: 'cargo',
      parameters: ['test', '--workspace', '--no-default-features', ...filters],
    })
  }
  if (selected.length > 0) {
    // Many tests wait for processes and servers, so that two files at a time leave a core of two idle, unless Bun runs beside them.
    const concurrency = runsRust ? 3 : 2
    const node = {
      title: 'Node',
      command: 'node',
      parameters: ['scripts/run-tests.mjs', 'node', 'node', `--concurrency=${concurrency}`, ...selected],
    }
    const bun = {
      title: 'Bun',
      command: 'node',
      parameters: ['scripts/run-tests.mjs', 'bun', bunBinary(), ...onBun],
      beside: true,
    }
    // Bun runs one file at a time: beside the core's tests, which use little more than one core, or beside Node.
    plan.push(...(runsRust ? [bun, node] : [node, bun]))
  }
  return plan
}

function read(parameters, tests) {
  const files = []
  let filter
  for (let index = 0; index < parameters.length; index++) {
    const parameter = parameters[index]
    if (parameter === '--rust') {
      if (filter !== undefined) {
        throw new Error('--rust can be given once: cargo test takes one filter.')
      }
      index++
      filter = parameters[index]
      if (filter === undefined || filter === '' || filter.startsWith('-')) {
        throw new Error('--rust needs a filter: a part of the names of the tests to run.')
      }
    } else if (parameter.startsWith('-')) {
      throw new Error(`Unknown flag ${parameter}.`)
    } else {
      files.push(fileOf(parameter, tests))
    }
  }
  return { files: [...new Set(files)], filter }
}

function fileOf(parameter, tests) {
  const file = parameter.replaceAll('\\', '/').replace(/^(?:\.\/)+/, '')
  if (!tests.includes(file)) {
    throw new Error(`There is no test file ${parameter}: name one such as ${tests[0] ?? '__test__/NAME.test.ts'}.`)
  }
  return file
}
