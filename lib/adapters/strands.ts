/** The entry `agent-context/strands`: a storage of Strands Agents. It imports nothing of the framework. */

export { ContextStorage, type ContextStorageOptions, type StorageHit } from './strands/context-storage.ts'
