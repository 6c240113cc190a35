/** How agents of LangChain, which are graphs of LangGraph, run with the middleware. */

import type { BaseMessage } from '@langchain/core/messages'
import type { BaseCheckpointSaver } from '@langchain/langgraph-checkpoint'
import type { ContextManager } from 'agent-context'
import { contextMiddleware } from 'agent-context/langchain'
import { createAgent, ToolMessage, tool } from 'langchain'
import { z } from 'zod'
import type { Framework, Run } from './adapter-suite.ts'
import { ScriptedChatModel } from './langchain-model.ts'

export const question = { messages: [{ role: 'human', content: 'Who is customer 7?' }] }
const textOrBlocks = (output: unknown) =>
  typeof output === 'object' && !Array.isArray(output) ? JSON.stringify(output) : output

interface Writing {
  readonly writer?: (progress: string) => void
}

function agentOf({ tools: given, script, manager, taskId, signal }: Run, checkpointer: BaseCheckpointSaver) {
  const model = new ScriptedChatModel(script)
  const tools = Object.entries(given).map(([name, run]) =>
    tool(
      async (input, config) =>
        textOrBlocks(await run(input, config.signal, (progress) => (config as Writing).writer?.(progress))),
      { name, description: 'd', schema: z.object({ query: z.string().optional() }) },
    ),
  )
  const middleware = manager === undefined ? [] : [contextMiddleware(manager, { taskId })]
  const agent = createAgent({ model, tools, middleware, checkpointer })
  const config = { configurable: { thread_id: 't' }, ...(signal && { signal }) }
  return { agent, model, config }
}

/** @param newCheckpointer what keeps the threads of a run with or without a manager */
export function langchainFramework(
  name: string,
  newCheckpointer: (manager: ContextManager | undefined) => BaseCheckpointSaver,
): Framework {
  return {
    name,
    async run(given) {
      const { agent, model, config } = agentOf(given, newCheckpointer(given.manager))
      const [outcome] = await Promise.allSettled([agent.invoke(question, config)])
      return {
        requests: model.requests,
        kept: outcome.status === 'fulfilled' ? JSON.stringify(outcome.value.messages) : '',
        ...(outcome.status === 'rejected' && { error: outcome.reason }),
      }
    },
    async stream(given) {
      const { agent, model, config } = agentOf(given, newCheckpointer(given.manager))
      const [pieces, reports, outputs]: [string[], string[], string[]] = [[], [], []]
      const follow = async () => {
        const streamMode: ('custom' | 'messages')[] = ['custom', 'messages']
        for await (const [mode, part] of await agent.stream(question, { ...config, streamMode })) {
          if (mode === 'custom') {
            reports.push(part as string)
            continue
          }
          const [message] = part as unknown as [BaseMessage]
          if (ToolMessage.isInstance(message)) {
            outputs.push(JSON.stringify(message))
          } else if (message.text !== '') {
            pieces.push(message.text)
          }
        }
        return JSON.stringify((await agent.graph.getState(config)).values.messages)
      }
      const [outcome] = await Promise.allSettled([follow()])
      const parts = { requests: model.requests, pieces, reports, outputs }
      return outcome.status === 'fulfilled' ? { ...parts, kept: outcome.value } : { ...parts, error: outcome.reason }
    },
    withImage: (text, png) => [
      { type: 'text', text },
      { type: 'image', mimeType: 'image/png', data: png },
    ],
    turn: 'support/langchain-turn.ts',
    endsOnError: true,
  }
}
