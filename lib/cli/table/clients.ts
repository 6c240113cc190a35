/** Commands that coding agents run: the server, hooks, and what sets them up. */

import { CLIENTS } from '../../hooks/hook-event.ts'
import type { CommandRow } from '../command-types.ts'

export const CLIENT_COMMANDS: readonly CommandRow[] = [
  {
    name: 'mcp',
    summary: 'Serve what is stored to an MCP client, over standard input and output or HTTP',
    details:
      'Without --dir, the directory of this workspace, ~/.agent/projects/<hash>, where hooks write. Ends with its client.',
    options: [
      'dir',
      'history',
      'store',
      'agent',
      { name: 'session', description: 'the session that stores outputs' },
      'workspace',
      'memory',
      'allProjects',
      'tools',
      'readOnly',
      'http',
      { name: 'port', fallback: 'a free one' },
      { name: 'host', fallback: '127.0.0.1' },
      { name: 'tokenFile', fallback: '~/.agent/mcp-token' },
    ],
    output: 'text',
    examples: [
      ['mcp --tools contexts,history --read-only', 'what a client needs to look at earlier outputs'],
      ['mcp --http --port 8931', 'for clients that connect to an address'],
    ],
    load: () => import('../commands/mcp.ts'),
  },
  {
    name: 'hook',
    summary: 'Answer an event of a coding agent, from standard input',
    details:
      'Stores the output of a tool without its secrets, appends the call to the history, and answers with a placeholder where the output is large. At the start of a session it gives what is known about the repository. On any failure the answer is {} and the exit code 0; the reason is in hook.log beside the outputs.',
    arguments: [
      { name: 'client', description: 'claude-code, codex, cursor, gemini or opencode', choices: CLIENTS },
      { name: 'event', description: 'post-tool-use, after-tool, session-start, session-end, …' },
    ],
    options: ['dir', 'history', 'memory', 'threshold'],
    output: 'text',
    examples: [['hook claude-code post-tool-use < event.json', 'what the client runs']],
    load: () => import('../commands/hook.ts'),
  },
  {
    name: 'setup',
    summary: 'Add the server and the hooks to the configuration of a coding agent',
    details:
      'Keeps comments and what else is in the files, and a copy of each as <file>.agent-context.bak. Files that are symbolic links or not understood are refused. Running it again changes nothing.',
    arguments: [{ name: 'client', description: 'claude-code, codex, cursor, gemini or opencode', choices: CLIENTS }],
    options: ['workspace', 'scope', 'print', 'remove'],
    output: 'text',
    examples: [
      ['setup claude-code', 'for all projects of this user'],
      ['setup gemini --print', 'what would be written, for copying'],
      ['setup cursor --remove', 'takes it out again'],
    ],
    load: () => import('../commands/setup.ts'),
  },
]
