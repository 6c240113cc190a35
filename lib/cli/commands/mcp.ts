/** `mcp`: serves what is stored to an MCP client. */

import { homedir } from 'node:os'
import { join } from 'node:path'
import type { ServerSettings, ToolGroup } from '../../mcp/serve.ts'
import { EXIT, type Invocation } from '../command-types.ts'
import { refuseFromFile, storageOf } from '../database.ts'
import { CliError } from '../failures.ts'
import { visibleLine } from '../output/visible-text.ts'

const GROUPS: readonly ToolGroup[] = ['contexts', 'history', 'store', 'memory']
const LOOPBACK = new Set(['127.0.0.1', '::1', 'localhost'])
const TOKEN_FILE = join(homedir(), '.agent', 'mcp-token')

export async function run(invocation: Invocation): Promise<undefined> {
  const { options, settings, signal } = invocation
  refuseFromFile(settings.database, settings.file)
  if (settings.database !== undefined && options.allProjects === true) {
    throw new CliError(
      '--all-projects finds the directories of this machine; in a database, name the one to serve with --dir',
      EXIT.usage,
    )
  }
  const { serveOverHttp, serveOverStdio } = await import('../../mcp/serve.ts')
  const served: ServerSettings = {
    version: PACKAGE_VERSION,
    dir: settings.dir,
    history: settings.history,
    store: settings.store,
    agent: settings.agent ?? 'agent-context',
    session: options.session,
    workspace: settings.workspace ?? '.',
    memory: settings.memory,
    ...storageOf(settings),
    allProjects: options.allProjects === true,
    readOnly: options.readOnly === true,
    groups: groupsOf(options.tools),
    ...(options.verbose === true
      ? { onDebug: (message: string) => void process.stderr.write(`${visibleLine(message)}\n`) }
      : {}),
  }
  if (options.http !== true) {
    const other = (['port', 'host', 'tokenFile'] as const).find((name) => options[name] !== undefined)
    if (other !== undefined) {
      throw new CliError(`--${other === 'tokenFile' ? 'token-file' : other} can be given only with --http`, EXIT.usage)
    }
    await serveOverStdio(served, signal)
  } else {
    const host = options.host ?? '127.0.0.1'
    if (!LOOPBACK.has(host) && options.tokenFile === undefined) {
      throw new CliError(
        `${visibleLine(host)} can be reached from other machines: name the file of the token with --token-file, or serve on 127.0.0.1`,
        EXIT.refused,
      )
    }
    const http = { host, port: options.port ?? 0, tokenFile: options.tokenFile ?? TOKEN_FILE }
    await serveOverHttp(served, http, signal)
  }
  // Standard input may still be open after the parent process has ended.
  process.exit(EXIT.done)
}

declare const PACKAGE_VERSION: string

function groupsOf(text: string | undefined): ReadonlySet<ToolGroup> {
  if (text === undefined) {
    return new Set(GROUPS)
  }
  const names = text.split(',').map((name) => name.trim())
  const wrong = names.find((name) => !GROUPS.includes(name as ToolGroup))
  if (wrong !== undefined) {
    throw new CliError(`'${visibleLine(wrong)}' is no group of tools: choose of ${GROUPS.join(', ')}`, EXIT.usage)
  }
  return new Set(names as ToolGroup[])
}
