/** Determines the repository to which a folder belongs. */

import { repoIdentity } from '#addon'
import { type Hooks, operate, outbox } from '../native/border.ts'
import type { BranchScope } from './types.ts'

/** The repository to which a folder belongs. */
export interface Identity {
  readonly repoHash: string
  /** The canonical path of the work tree's root, or of the folder if it is in no work tree. */
  readonly workspace: string
  /** The identity in the form that the native side returned and takes again. */
  readonly text: string
}

/** Requests the identity of a folder from the native side. */
export function identityOf(hooks: Hooks, workspace: string, branchScope: BranchScope): Promise<Identity> {
  const request = JSON.stringify({ workspace, branchScope })
  return operate(
    hooks,
    (operation) => repoIdentity(outbox, operation, request),
    (_, [text = '']) => ({ ...(JSON.parse(text) as Pick<Identity, 'repoHash' | 'workspace'>), text }),
  )
}
