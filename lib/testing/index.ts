/** The entry `agent-context/testing`: what a session, a session store, a checkpointer, a memory and a backend of files have to keep. */

export { type CheckpointerSubject, checkpointerContract } from './checkpointer-contract.ts'
export { type FileBackendSubject, fileBackendContract } from './file-backend-contract.ts'
export { type MemorySubject, memoryContract } from './memory-contract.ts'
export type { ContractOptions, RegisterTest } from './register.ts'
export { type SessionSubject, sessionContract } from './session-contract.ts'
export { type SessionStoreSubject, sessionStoreContract } from './session-store-contract.ts'
