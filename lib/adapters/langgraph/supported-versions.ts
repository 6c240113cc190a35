/** Which versions of LangGraph's interfaces the adapters implement. */

export const SUPPORTED_VERSIONS = '@langchain/langgraph-checkpoint ^1.2.2'
