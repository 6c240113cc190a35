/** The changes of each client's configuration: its file, members and items. */

import { homedir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { ClientName } from '../hooks/hook-event.ts'
import { removeItems, removeMember, setItem, setMember } from './jsonc.ts'

export interface Configuration {
  readonly file: string
  /** @throws Error when the text is not understood */
  add(text: string): string
  remove(text: string): string
}

export interface SetupPlace {
  readonly scope: 'user' | 'project'
  readonly workspace: string
  /** The program's script, absolute. */
  readonly script: string
  /** The module that opencode loads, absolute. */
  readonly plugin: string
}

type Edit = (text: string) => string

export function configurationsOf(client: ClientName, place: SetupPlace): Configuration[] {
  const folder = place.scope === 'user' ? homedir() : place.workspace
  const server = { command: 'node', args: [place.script, 'mcp'] }
  switch (client) {
    case 'claude-code':
      return [
        // A project's own list is in this file as well: .mcp.json is tracked, and would get an absolute path.
        jsonFile(join(homedir(), '.claude.json'), [
          member([...(place.scope === 'user' ? [] : ['projects', place.workspace]), 'mcpServers', NAME], server),
        ]),
        jsonFile(join(folder, '.claude', place.scope === 'user' ? 'settings.json' : 'settings.local.json'), [
          nestedHook(place, client, 'SessionStart', 'session-start', 'startup|clear|compact', SECONDS),
          nestedHook(place, client, 'PostToolUse', 'post-tool-use', '*', SECONDS),
          nestedHook(place, client, 'SessionEnd', 'session-end', undefined, SECONDS),
        ]),
      ]
    case 'codex':
      return [
        tomlFile(join(folder, '.codex', 'config.toml'), [
          '[mcp_servers.agent-context]',
          'command = "node"',
          `args = [${JSON.stringify(place.script)}, "mcp"]`,
          'startup_timeout_sec = 30',
        ]),
        jsonFile(join(folder, '.codex', 'hooks.json'), [
          nestedHook(place, client, 'SessionStart', 'session-start', 'startup|resume', SECONDS),
          nestedHook(place, client, 'PostToolUse', 'post-tool-use', '.*', SECONDS),
        ]),
      ]
    case 'cursor':
      return [
        jsonFile(join(folder, '.cursor', 'mcp.json'), [member(['mcpServers', NAME], server)]),
        jsonFile(
          join(folder, '.cursor', 'hooks.json'),
          (['session-start', 'post-tool-use', 'after-shell-execution', 'session-end'] as const).map((event) =>
            item(['hooks', camelCase(event)], { command: commandOf(place, client, event) }, client),
          ),
          '{\n  "version": 1\n}\n',
        ),
      ]
    case 'gemini':
      return [
        jsonFile(join(folder, '.gemini', 'settings.json'), [
          member(['mcpServers', NAME], server),
          nestedHook(place, client, 'SessionStart', 'session-start', 'startup', MILLISECONDS),
          nestedHook(place, client, 'AfterTool', 'after-tool', '.*', MILLISECONDS),
          nestedHook(place, client, 'SessionEnd', 'session-end', 'exit', MILLISECONDS),
        ]),
      ]
    case 'opencode':
      return [
        jsonFile(
          place.scope === 'user'
            ? join(homedir(), '.config', 'opencode', 'opencode.json')
            : join(folder, 'opencode.json'),
          [
            member(['mcp', NAME], { type: 'local', command: ['node', place.script, 'mcp'], enabled: true }),
            {
              add: (text) => setItem(text, ['plugin'], pathToFileURL(place.plugin).href, isOwnPlugin),
              remove: (text) => removeItems(text, ['plugin'], isOwnPlugin),
            },
          ],
          '{\n  "$schema": "https://opencode.ai/config.json"\n}\n',
        ),
      ]
  }
}

const NAME = 'agent-context'
const SECONDS = 10
const MILLISECONDS = 10_000
const camelCase = (name: string): string => name.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())
const commandOf = ({ script }: SetupPlace, client: ClientName, event: string): string =>
  `node "${script}" hook ${client} ${event}`
const isOwnPlugin = (value: unknown): boolean =>
  typeof value === 'string' && value.startsWith('file:') && /\/cli\/opencode-plugin\.js$/.test(value)

interface Change {
  readonly add: Edit
  readonly remove: Edit
}

const member = (path: readonly string[], value: object): Change => ({
  add: (text) => setMember(text, path, value),
  remove: (text) => removeMember(text, path),
})

const item = (path: readonly string[], value: object, client: ClientName): Change => {
  const isOwn = (other: unknown): boolean => JSON.stringify(other).includes(` hook ${client} `)
  return {
    add: (text) => setItem(text, path, value, isOwn),
    remove: (text) => removeItems(text, path, isOwn),
  }
}

function nestedHook(
  place: SetupPlace,
  client: ClientName,
  name: string,
  event: string,
  matcher: string | undefined,
  timeout: number,
): Change {
  const hooks = [{ type: 'command', command: commandOf(place, client, event), timeout }]
  return item(['hooks', name], { ...(matcher === undefined ? {} : { matcher }), hooks }, client)
}

function jsonFile(file: string, changes: readonly Change[], initial = '{}\n'): Configuration {
  return {
    file,
    add: (text) => changes.reduce((edited, { add }) => add(edited), text.trim() === '' ? initial : text),
    remove: (text) => (text.trim() === '' ? text : changes.reduce((edited, { remove }) => remove(edited), text)),
  }
}

const BEGIN = '# agent-context: begin'
const END = '# agent-context: end'
const BLOCK = new RegExp(`\\n?${BEGIN}\\n[\\s\\S]*?${END}\\n?`)

/** A table at the end of a TOML file, between two comments by which it is found again. */
function tomlFile(file: string, lines: readonly string[]): Configuration {
  const block = `${[BEGIN, ...lines, END].join('\n')}\n`
  return {
    file,
    add(text) {
      const rest = text.replace(BLOCK, '')
      if (/^\s*\[\s*mcp_servers\s*\.\s*"?agent-context"?\s*\]/m.test(rest)) {
        throw new Error('it has a table [mcp_servers.agent-context] of its own: remove that first')
      }
      if (/'''|"""/.test(rest)) {
        throw new Error(
          'it has strings of several lines, which are not understood here: add what --print shows yourself',
        )
      }
      return text.includes(block)
        ? text
        : `${rest}${rest === '' || rest.endsWith('\n') ? '' : '\n'}${rest === '' ? '' : '\n'}${block}`
    },
    remove: (text) => text.replace(BLOCK, ''),
  }
}
