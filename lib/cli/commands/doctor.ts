/** `doctor`: checks the installation and the places, and names a remedy for each problem. */

import { EXIT, type Invocation } from '../command-types.ts'
import type { Check } from '../doctor/check.ts'
import { checkAddon, checkDatabase, checkRuntime, checkSettings } from '../doctor/installation.ts'
import { checkContexts, checkHistory, checkMemory, checkState, checkStore } from '../doctor/places.ts'
import { counted } from '../output/units.ts'
import { visibleLine } from '../output/visible-text.ts'

const SIGNS = { ok: '✓', warning: '!', error: '✗' } as const

export async function run(invocation: Invocation): Promise<0 | 1> {
  const { output, settings } = invocation
  const items: Check[] = [checkRuntime(process.versions), checkSettings(settings)]
  const addon = await checkAddon()
  items.push(addon)
  const database = addon.status === 'error' ? [] : await checkDatabase(settings)
  items.push(...database)
  if (addon.status !== 'error' && database.every(({ status }) => status === 'ok')) {
    for (const check of [checkContexts, checkHistory, checkStore, checkMemory, checkState]) {
      items.push(...(await check(invocation)))
    }
  }
  const errors = items.filter(({ status }) => status === 'error').length
  const warnings = items.filter(({ status }) => status === 'warning').length
  await output.document({ isHealthy: errors === 0, items }, async () => {
    const { green, yellow, red, dim } = output.style
    const paint = { ok: green, warning: yellow, error: red }
    for (const { name, status, message, remedy } of items) {
      await output.line(`${paint[status](SIGNS[status])} ${name.padEnd(10)}${visibleLine(message)}`)
      if (remedy !== undefined) {
        await output.line(`  ${' '.repeat(10)}${dim('→')} ${visibleLine(remedy)}`)
      }
    }
    await output.line()
    await output.line(
      errors + warnings === 0 ? 'Everything works.' : `${counted(errors, 'error')}, ${counted(warnings, 'warning')}.`,
    )
  })
  return errors === 0 ? EXIT.done : EXIT.nothing
}
