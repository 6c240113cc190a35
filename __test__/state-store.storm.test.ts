/** The storm on a state store at full length; `state-store.processes.test.ts` has a shorter one for every runtime. */

import { test } from 'node:test'
import { inDirectory } from './support/processes.ts'
import { stateStorm } from './support/state-storm.ts'

test(
  'eight processes with 5 000 operations each, three of them killed, lose nothing',
  { timeout: 300_000 },
  inDirectory((directory) => stateStorm(directory, 5000)),
)
