/** What the program says when it is called with nothing. */

export function welcome(version: string): string {
  return `agent-context ${version}: what AI agents store, on the command line.

Tool outputs, the history of calls, shared findings and what is known about a repository
are files on this machine. Three commands to start with:

  agent-context doctor                       does everything work here?
  npm test 2>&1 | agent-context offload --tool npm_test
                                             store an output, print a short placeholder for it
  agent-context list                         what is stored, newest first

All commands: agent-context --help. One of them: agent-context help <command>.
`
}
