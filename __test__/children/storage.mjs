// The option `storage` for children of tests that run on a database.
import process from 'node:process'

const { AGENT_CONTEXT_TEST_DATABASE: storage } = process.env
export const inDatabase = storage ? { storage } : {}
