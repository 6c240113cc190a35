/** `redeem.mjs <directory> <handle>…` prints the results behind the handles as JSON, and on a second line what was reported. */

import { ContextManager } from '../../dist/index.js'
import { inDatabase } from './storage.mjs'

const [contextDir, ...handles] = process.argv.slice(2)
const reported = []
const onDebug = (message, data) => reported.push({ message, data })
const manager = new ContextManager({ contextDir, onDebug, ...inDatabase })
console.log(JSON.stringify((await manager.loadContexts(handles)).map(({ result }) => result)))
console.log(JSON.stringify(reported))
