// Lists and reads a directory again and again until its standard input ends; fails at the first record that is not whole.
// Parameters: directory.
import { readdirSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { ContextManager } from '../../dist/index.js'

const [contextDir] = process.argv.slice(2)
const problems = []
const manager = new ContextManager({ contextDir, onDebug: (message, data) => problems.push([message, data]) })
problems.length = 0
let isOver = false
let rounds = 0
let seen = 0
process.stdin.on('end', () => {
  isOver = true
})
process.stdin.resume()
writeSync(1, 'ready\n')

function check(record, where) {
  const isWhole = record.toolName === 'storm' && record.result.text.length === 5000 && record.args.same === 'arguments'
  if (!isWhole) {
    throw new Error(`${where} is not whole`)
  }
}

for (let isLast = false; !isLast; ) {
  isLast = isOver
  const known = new Set((await manager.listContexts()).map(({ filepath }) => filepath))
  const names = readdirSync(contextDir).filter((name) => name.endsWith('.json'))
  for (const name of names) {
    check(JSON.parse(readFileSync(join(contextDir, name), 'utf8')), name)
  }
  const listed = await manager.listContexts()
  const paths = listed.map(({ filepath }) => filepath)
  for (const path of known) {
    if (!paths.includes(path)) {
      throw new Error(`${path} was listed and is no more`)
    }
  }
  const loaded = await manager.loadContexts(paths)
  for (const record of loaded) {
    check(record, 'a loaded record')
  }
  if (loaded.length !== paths.length || problems.length > 0) {
    throw new Error(`${paths.length - loaded.length} could not be loaded: ${JSON.stringify(problems)}`)
  }
  seen = loaded.length
  rounds++
  await turn()
}
writeSync(1, `${JSON.stringify({ rounds, seen })}\n`)
