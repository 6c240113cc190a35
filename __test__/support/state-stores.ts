/** State stores of tests, in files or, where the run has a test database, in that. */

import { type StateStoreOptions, StateStore as Store } from '../../dist/index.js'
import { testDatabase } from './postgres.ts'

/** Whether the stores of the run are in a database. */
export const inDatabase = testDatabase !== undefined

/** A `StateStore` that is in the test database, if there is one, under the name of its path. */
export class StateStore extends Store {
  constructor(options?: StateStoreOptions | null) {
    super(testDatabase === undefined ? options : { ...options, storage: testDatabase })
  }
}
