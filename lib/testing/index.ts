/**
 * The entry `agent-context/testing`: tests of the behaviour that frameworks expect of a session, a session store, a checkpointer,
 * a memory and a file backend.
 */

export { type CheckpointerSubject, checkpointerContract } from './checkpointer-contract.ts'
export { type FileBackendSubject, fileBackendContract } from './file-backend-contract.ts'
export { type MemorySubject, memoryContract } from './memory-contract.ts'
export type { ContractOptions, RegisterTest } from './register.ts'
export { type SessionSubject, sessionContract } from './session-contract.ts'
export { type SessionStoreSubject, sessionStoreContract } from './session-store-contract.ts'
