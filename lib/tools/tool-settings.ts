/** The settings of one manager's context tools. */

import type { SessionScope } from '../manager/types.ts'

export interface ToolSettings<Prefix extends string = string> {
  /** The largest size of the text that a tool returns, in bytes. */
  readonly maxBytes: number
  /** Which sessions' outputs the tools show. */
  readonly sessions: SessionScope
  /** The prefix of the tools' names as the model sees them. */
  readonly prefix: Prefix
}
