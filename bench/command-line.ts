/**
 * What commands of the program `agent-context` cost beside bare Node: processor time and memory of whole processes.
 * `npm run bench:command-line [-- --outputs 10000 --rounds 9 --megabytes 1024]`
 */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { ContextManager } from '../dist/index.js'
import { runCommand } from './command.ts'
import { loadLine } from './machine.ts'
import { measure, PROGRAM, spreadOf } from './measured-process.ts'

const LINE = 'a line of a log with nothing in it but words, as most lines of most logs are\n'

async function feed(stdin: NodeJS.WritableStream, bytes: number): Promise<void> {
  const block = LINE.repeat(Math.ceil(65_536 / LINE.length))
  for (let sent = 0; sent < bytes; sent += block.length) {
    if (!stdin.write(block)) {
      await new Promise((resolve) => stdin.once('drain', resolve))
    }
  }
  stdin.end()
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      outputs: { type: 'string', default: '10000' },
      rounds: { type: 'string', default: '9' },
      megabytes: { type: 'string', default: '1024' },
    },
  })
  const [outputs, rounds, megabytes] = [values.outputs, values.rounds, values.megabytes].map(Number)
  if (outputs === undefined || rounds === undefined || megabytes === undefined) {
    throw new Error('--outputs, --rounds and --megabytes are numbers')
  }
  const directory = mkdtempSync(join(tmpdir(), 'agent-context-bench-'))
  try {
    const environment = { AGENT_CONTEXT_DIR: directory }
    const manager = new ContextManager({ contextDir: directory, retention: { maxFiles: outputs * 2 } })
    for (let saved = 0; saved < outputs; saved += 100) {
      await Promise.all(
        Array.from({ length: 100 }, (_, index) =>
          manager.saveContext('grep', { number: saved + index }, LINE.repeat(10)),
        ),
      )
    }
    await manager.close()
    const cases: readonly (readonly [name: string, words: readonly string[]])[] = [
      ['node -e 0', ['-e', '0']],
      ['--version', [PROGRAM, '--version']],
      ['--help', [PROGRAM, '--help']],
      [`list of ${outputs}`, [PROGRAM, 'list', '--json']],
      [`stats of ${outputs}`, [PROGRAM, 'stats', '--json']],
    ]
    const costs = new Map(cases.map(([name]) => [name, [] as number[]]))
    // Interleaved, so that the machine's other work falls on all of them.
    for (let round = 0; round < rounds; round++) {
      for (const [name, words] of cases) {
        costs.get(name)?.push((await measure(words, environment)).cpuMs)
      }
    }
    console.log(`Node ${process.versions.node}; ${loadLine()}`)
    console.log('processor time of the whole process, ms: least / median')
    for (const [name, samples] of costs) {
      const { least, median } = spreadOf(samples)
      console.log(`${name.padEnd(16)} ${least.toFixed(0).padStart(5)} / ${median.toFixed(0)}`)
    }
    const { cpuMs, maxRssMb } = await measure([PROGRAM, 'redact'], environment, (stdin) =>
      feed(stdin, megabytes * 1024 * 1024),
    )
    console.log(`redact of ${megabytes} MB: ${(cpuMs / 1000).toFixed(1)} s, ${maxRssMb.toFixed(0)} MB resident at most`)
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

await runCommand('bench:command-line', 'npm run bench:command-line [-- --outputs N --rounds N --megabytes N]', main)
