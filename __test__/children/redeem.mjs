/** `redeem.mjs <directory> <handle>…` prints the results behind the handles as JSON. */

import { ContextManager } from '../../dist/index.js'

const [contextDir, ...handles] = process.argv.slice(2)
const manager = new ContextManager({ contextDir })
console.log(JSON.stringify((await manager.loadContexts(handles)).map(({ result }) => result)))
