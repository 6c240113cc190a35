// Imports the package, uses it once, prints what it exports. Parameters: directory.
import * as everything from '../../dist/index.js'
import { use } from './use.mjs'

await use(everything, process.argv[2])
