// Copies with the options in its parameter, and prints the report.
import { writeSync } from 'node:fs'
import process from 'node:process'
import { copyStorage } from '../../dist/index.js'

const report = await copyStorage(JSON.parse(process.argv[2] ?? ''))
writeSync(1, `${JSON.stringify(report)}\n`)
