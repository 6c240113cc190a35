/** The places that an export or an import includes: those that options name, or all. */

import type { Settings } from '../settings.ts'

export type PlaceName = 'contexts' | 'history' | 'store' | 'memory' | 'state'

export function chosenPlaces({ given }: Settings): ReadonlySet<PlaceName> {
  const chosen = new Set<PlaceName>()
  if (given.has('dir')) {
    chosen.add('contexts')
  }
  if (given.has('history')) {
    chosen.add('history')
  }
  if (given.has('store')) {
    chosen.add('store')
  }
  if (given.has('memory') || given.has('workspace')) {
    chosen.add('memory')
  }
  if (given.has('state')) {
    chosen.add('state')
  }
  return chosen.size > 0 ? chosen : new Set(['contexts', 'history', 'store', 'memory', 'state'])
}
