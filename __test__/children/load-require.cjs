// Requires the package, uses it once, prints what it exports. Parameters: directory.
const everything = require('../../dist/index.js')

import('./use.mjs').then(({ use }) => use(everything, process.argv[2]))
