/** A turn of a session of opencode, in a process of its own: the parts are in a file between the turns. */

import { readFileSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { contextPlugin } from 'agent-context/opencode'
import { LARGE } from './large.ts'
import { OpencodeSession } from './opencode-session.ts'
import { callOf, nameIn, readBack } from './script.ts'

const file = join(homedir(), 'parts.json')
const plugin = contextPlugin()
const hooks = await plugin({})
if (process.argv[2] === 'first') {
  const session = new OpencodeSession('ses_1', hooks)
  await session.prompt({ lookUp: () => LARGE }, [callOf('lookUp'), 'I looked them up.'])
  writeFileSync(file, JSON.stringify(session.parts))
  console.log(readFileSync(file).length)
} else {
  const session = new OpencodeSession('ses_1', hooks, JSON.parse(readFileSync(file, 'utf8')))
  console.log(await session.prompt({}, [(request) => readBack(request), nameIn]))
}
await hooks.dispose()
