/** `lib/native/addon.ts` exports whatever the addon does. */

import type * as addon from '#addon'
import type * as loaded from '../../lib/native/addon.ts'

type Missing = Exclude<keyof typeof addon, keyof typeof loaded | '__napiBindingTarget'>

export const missing: [Missing] extends [never] ? true : Missing = true
