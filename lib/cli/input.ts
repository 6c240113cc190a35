/** Text that a command takes: from an option, standard input, or an editor. */

import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { EXIT, type Invocation } from './command-types.ts'
import { CliError } from './failures.ts'

export async function readInput(): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  for await (const chunk of process.stdin) {
    chunks.push(chunk as Uint8Array)
  }
  return Buffer.concat(chunks)
}

/** `--content`, otherwise standard input, otherwise what `$EDITOR` saves. */
export async function readContent({ options }: Invocation): Promise<string> {
  const text =
    options.content !== undefined && options.content !== '-'
      ? options.content
      : process.stdin.isTTY === true && options.content !== '-'
        ? editText()
        : new TextDecoder('utf-8').decode(await readInput())
  if (text.trim() === '') {
    throw new CliError('there is no text: give it with --content, on standard input, or in $EDITOR', EXIT.usage)
  }
  return text
}

function editText(): string {
  const [editor, ...parameters] = (process.env['VISUAL'] || process.env['EDITOR'] || '').split(/\s+/).filter(Boolean)
  if (editor === undefined) {
    throw new CliError('there is no text: give it with --content or on standard input, or set EDITOR', EXIT.usage)
  }
  const folder = mkdtempSync(join(tmpdir(), 'agent-context-'))
  const file = join(folder, 'text.md')
  try {
    writeFileSync(file, '', { mode: 0o600 })
    const { status, error } = spawnSync(editor, [...parameters, file], { stdio: 'inherit' })
    if (error !== undefined || status !== 0) {
      throw new CliError(`${editor} failed; nothing was written`, EXIT.usage)
    }
    return readFileSync(file, 'utf8')
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
