/** Runtime, addon and settings. */

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
