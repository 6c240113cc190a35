/** What the context tools of one manager have in common. */

import type { SessionScope } from '../manager/types.ts'

export interface ToolSettings<Prefix extends string = string> {
  /** The text that a tool gives back never takes more bytes. */
  readonly maxBytes: number
  /** Whose outputs the tools show. */
  readonly sessions: SessionScope
  /** What the names of the tools begin with where the model sees them. */
  readonly prefix: Prefix
}
