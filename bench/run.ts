/** `npm run bench`: measures this package beside its peers. See `--help`. */

import { writeFileSync } from 'node:fs'
import process from 'node:process'
import { benchAgainst } from './against.ts'
import { runCommand } from './command.ts'
import { benchGrowth } from './growth.ts'
import { benchHistory } from './history.ts'
import { benchHostileSaves } from './hostile-saves.ts'
import { benchLoad } from './load.ts'
import { describeMachine, loadLine } from './machine.ts'
import { benchOffload } from './offload.ts'
import { benchOpenLoop } from './open-loop.ts'
import { type Options, readOptions, USAGE } from './options.ts'
import { Peers } from './peer-packages.ts'
import { benchPointers } from './pointers.ts'
import { benchRepoMap } from './repo-map.ts'
import { Report } from './report.ts'
import { benchSave } from './save.ts'
import { benchSearch } from './search.ts'
import { benchStore } from './store.ts'
import { tellTargets } from './targets.ts'
import { Workspace } from './workspace.ts'

async function main(parameters: string[]): Promise<void> {
  const options = readOptions(parameters)
  const peers = options.against === undefined ? await Peers.load() : new Peers()
  const workspace = new Workspace(options.directory)
  // Interrupted or not, nothing stays.
  process.once('exit', () => workspace.remove())
  process.once('SIGINT', () => process.exit(130))
  const report = new Report()
  report.heading('Machine')
  report.lines([...describeMachine(peers), ...workspace.describe()])
  if (options.against === undefined) {
    await benchSections(options, report, peers, workspace)
    tellTargets(report)
  } else {
    benchAgainst(report, workspace, options.against, options.isQuick)
  }
  report.lines([`at the end: ${loadLine()}`])
  if (options.json !== undefined) {
    writeFileSync(options.json, `${JSON.stringify(report.measurements, null, 2)}\n`)
  }
  if (options.markdown !== undefined) {
    writeFileSync(options.markdown, report.toMarkdown())
  }
}

async function benchSections(options: Options, report: Report, peers: Peers, workspace: Workspace): Promise<void> {
  const { only, isQuick } = options
  if (only.has('save')) {
    await benchSave(report, peers, workspace, isQuick)
  }
  if (only.has('open-loop')) {
    await benchOpenLoop(report, peers, workspace, isQuick)
  }
  if (only.has('hostile-saves')) {
    benchHostileSaves(report, workspace, isQuick)
  }
  if (only.has('load')) {
    await benchLoad(report, workspace, isQuick)
  }
  if (only.has('offload')) {
    await benchOffload(report, workspace, isQuick)
  }
  if (only.has('pointers')) {
    await benchPointers(report, peers, workspace, isQuick)
  }
  if (only.has('growth')) {
    benchGrowth(report, workspace, isQuick)
  }
  if (only.has('history')) {
    await benchHistory(report, peers, workspace, isQuick)
  }
  if (only.has('search')) {
    benchSearch(report, peers, workspace, isQuick)
  }
  if (only.has('store')) {
    benchStore(report, workspace, isQuick)
  }
  if (only.has('repo-map')) {
    benchRepoMap(report, workspace, isQuick)
  }
}

await runCommand('bench', USAGE, main)
