/** Runtime, addon and settings. */

import { databaseName, storageOf } from '../database.ts'
import { library } from '../places.ts'
import { SETTINGS_FILE, type Settings } from '../settings.ts'
import { type Check, failed } from './check.ts'

const NEEDED = { major: 20, minor: 19 }

export function checkRuntime(versions: NodeJS.ProcessVersions): Check {
  const runtime =
    versions['bun'] === undefined
      ? versions['deno'] === undefined
        ? `Node.js ${versions.node}`
        : `Deno ${versions['deno']}`
      : `Bun ${versions['bun']}`
  const [major = 0, minor = 0] = versions.node.split('.').map(Number)
  const message = `${runtime} on ${process.platform} ${process.arch}`
  return major > NEEDED.major || (major === NEEDED.major && minor >= NEEDED.minor)
    ? { name: 'runtime', status: 'ok', message }
    : {
        name: 'runtime',
        status: 'error',
        message,
        remedy: `install Node.js ${NEEDED.major}.${NEEDED.minor} or newer from https://nodejs.org`,
      }
}

export function checkSettings({ file }: Settings): Check {
  return {
    name: 'settings',
    status: 'ok',
    message: file ?? `no ${SETTINGS_FILE} here: options, variables and defaults count`,
  }
}

/** How long the server may take to answer, in ms. */
const PATIENCE = 5000

/** Where everything is stored, if not in files. */
export async function checkDatabase({ database }: Settings): Promise<Check[]> {
  if (database === undefined) {
    return []
  }
  const name = 'database'
  try {
    const { ContextHistory } = await library()
    const { storage } = storageOf({ database })
    const url = typeof storage === 'string' ? { url: storage } : storage
    const history = new ContextHistory({
      path: 'agent-context-doctor',
      storage: url === undefined ? url : { ...url, timeout: PATIENCE },
    })
    await history.read(1)
    return [
      { name, status: 'ok', message: `everything is in ${databaseName(database.url)}, by names in place of paths` },
    ]
  } catch (error) {
    return [failed(name, error)]
  }
}

export async function checkAddon(): Promise<Check> {
  try {
    const { redact } = await library()
    redact('')
    return { name: 'addon', status: 'ok', message: 'loaded' }
  } catch (error) {
    return {
      ...failed('addon', error),
      remedy: `install agent-context again on this machine (npm install), for ${process.platform} ${process.arch}; files copied from another platform have the wrong addon`,
    }
  }
}
