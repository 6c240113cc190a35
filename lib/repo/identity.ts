/** Which repository a folder belongs to, and the memories of repositories that moved. */

import { repoIdentity } from '#addon'
import { type Hooks, operate, outbox } from '../native/border.ts'
import type { BranchScope } from './types.ts'

/** Which repository a folder belongs to. */
export interface Identity {
  readonly repoHash: string
  /** The root of the work tree, else the folder; canonical. */
  readonly workspace: string
  /** As the native side gives it, and takes it back. */
  readonly text: string
}

/** Asks the native side. */
export function identityOf(hooks: Hooks, workspace: string, branchScope: BranchScope): Promise<Identity> {
  const request = JSON.stringify({ workspace, branchScope })
  return operate(
    hooks,
    (operation) => repoIdentity(outbox, operation, request),
    (_, [text = '']) => ({ ...(JSON.parse(text) as Pick<Identity, 'repoHash' | 'workspace'>), text }),
  )
}
