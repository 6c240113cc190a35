/** `redeem.mjs <directory> <handle>…` prints the results behind the handles as JSON. */

import { ContextManager } from '../../dist/index.js'
import { inDatabase } from './storage.mjs'

const [contextDir, ...handles] = process.argv.slice(2)
const manager = new ContextManager({ contextDir, ...inDatabase })
console.log(JSON.stringify((await manager.loadContexts(handles)).map(({ result }) => result)))
