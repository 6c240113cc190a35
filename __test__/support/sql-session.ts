/** A session of psql that answers without an event loop, in about a millisecond: tests ask for stored files as for those on disk. */

import { Buffer } from 'node:buffer'
import { execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { PSQL_OPTIONS, psql } from './postgres.ts'

/** psql prints it after each answer. */
const END = '-- end of the answer --\n'
/** A session whose test process was killed ends after these seconds. */
const LONGEST = '1800'

/** Starts a session. The function that is returned runs SQL and returns what psql prints; it throws what the server reports. */
export function startSqlSession(url: string): (text: string) => string {
  const directory = mkdtempSync(join(tmpdir(), 'agent-context-psql-'))
  const [questions, answers] = [join(directory, 'questions'), join(directory, 'answers')]
  execFileSync('mkfifo', [questions, answers])
  // Opened for reading and writing, so that no end waits for the other.
  const [input, output] = [openSync(questions, 'r+'), openSync(answers, 'r+')]
  const session = spawn('timeout', [LONGEST, psql(), ...PSQL_OPTIONS, url], { stdio: [input, output, output] })
  session.unref()
  rmSync(directory, { recursive: true })
  process.once('exit', () => session.kill())
  const piece = Buffer.alloc(64 * 1024)
  return (text) => {
    writeSync(input, `${text}\n;\n\\echo '${END.trimEnd()}'\n`)
    const pieces: Buffer[] = []
    for (let end = ''; !end.endsWith(END); ) {
      const length = readSync(output, piece)
      pieces.push(Buffer.from(piece.subarray(0, length)))
      end = (end + piece.toString('latin1', 0, length)).slice(-END.length)
    }
    const answer = Buffer.concat(pieces).toString('utf8').slice(0, -END.length)
    if (/^(psql:\S* )?(ERROR|FATAL|PANIC): /m.test(answer)) {
      throw new Error(answer)
    }
    return answer
  }
}
