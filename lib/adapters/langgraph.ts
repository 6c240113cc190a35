/** The entry `agent-context/langgraph`: checkpoints and long-term memory of LangGraph in a `StateStore`. */

export { StateBaseStore } from './langgraph/state-base-store.ts'
export { StateSaver } from './langgraph/state-saver.ts'
