/** A turn of a session of Pi, in a process of its own. */

import { homedir } from 'node:os'
import { join } from 'node:path'
import { type ExtensionAPI, SessionManager } from '@earendil-works/pi-coding-agent'
import { contextExtension } from 'agent-context/pi'
import { LARGE } from './large.ts'
import { scriptedSession } from './pi-session.ts'
import { callOf, nameIn, readBack, type Script } from './script.ts'

const isFirst = process.argv[2] === 'first'
const sessions = join(homedir(), 'sessions')
const sessionManager = isFirst
  ? SessionManager.create(homedir(), sessions)
  : SessionManager.continueRecent(homedir(), sessions)
const lookUp = (pi: ExtensionAPI) =>
  pi.registerTool({
    name: 'lookUp',
    label: 'lookUp',
    description: 'd',
    parameters: { type: 'object', properties: {} } as never,
    execute: async () => ({ content: [{ type: 'text', text: JSON.stringify(LARGE) }], details: undefined }),
  })
const script: Script = isFirst ? [callOf('lookUp'), 'I looked them up.'] : [(request) => readBack(request), nameIn]
const { session } = await scriptedSession({
  script,
  cwd: homedir(),
  sessionManager,
  extensions: [lookUp, contextExtension()],
})
await session.prompt('Who is customer 7?')
console.log(isFirst ? JSON.stringify(session.messages).length : session.getLastAssistantText())
session.dispose()
