/** The real Claude Code of the Agent SDK, with a model that follows a script: the API is on this machine. */

import { type Options, query, type SDKMessage, type SDKUserMessage } from '@anthropic-ai/claude-agent-sdk'
import { AnthropicApi } from './anthropic-api.ts'
import type { Script } from './script.ts'

const PROMPT = 'Who is customer 7?'

/** The variables of the environment with which Claude Code asks an address, and keeps its files in a directory. */
export function environmentOf(url: string, home: string): Record<string, string> {
  return {
    PATH: process.env['PATH'] ?? '',
    HOME: home,
    CLAUDE_CONFIG_DIR: `${home}/.claude`,
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_API_KEY: 'none',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    // Lets Claude Code run tools as root, as containers do.
    IS_SANDBOX: '1',
  }
}

export interface ClaudeRun {
  readonly messages: SDKMessage[]
  readonly requests: string[]
  readonly tools: readonly string[]
  readonly waits: readonly number[]
}

/** A question, and after the interruption another one: only a conversation that stays open can be interrupted. */
async function* openPrompt(interrupted: Promise<void>, ended: Promise<void>): AsyncGenerator<SDKUserMessage> {
  const message = { role: 'user' as const, content: PROMPT }
  yield { type: 'user', message, parent_tool_use_id: null, session_id: '' }
  await interrupted
  yield { type: 'user', message, parent_tool_use_id: null, session_id: '' }
  await ended
}

/**
 * Runs Claude Code with a script; gives its messages and what the model was sent.
 *
 * @param isDue when the first call of a tool is interrupted, after which the conversation goes on; with an `abortController`, when
 * the conversation is aborted. Asked again and again until it is true.
 */
export async function runClaude(
  script: Script,
  home: string,
  options: Options = {},
  isDue?: () => boolean,
): Promise<ClaudeRun> {
  const api = new AnthropicApi(script)
  const env = { ...environmentOf(await api.start(), home), ...options.env }
  const messages: SDKMessage[] = []
  const { promise: interrupted, resolve: goOn } = Promise.withResolvers<void>()
  const { promise: ended, resolve: end } = Promise.withResolvers<void>()
  const { abortController } = options
  let results = 0
  let isWaiting = isDue !== undefined
  try {
    const conversation = query({
      prompt: isDue === undefined ? PROMPT : openPrompt(interrupted, ended),
      options: {
        cwd: home,
        model: 'claude-sonnet-4-5',
        permissionMode: 'bypassPermissions',
        allowDangerouslySkipPermissions: true,
        settingSources: [],
        ...options,
        env,
      },
    })
    for await (const message of conversation) {
      messages.push(message)
      if (isWaiting && message.type === 'assistant') {
        isWaiting = false
        const interval = setInterval(() => {
          if (isDue?.() === true) {
            clearInterval(interval)
            void (abortController === undefined ? conversation.interrupt() : abortController.abort())
          }
        }, 50)
        void ended.then(() => clearInterval(interval))
      } else if (message.type === 'result') {
        results += 1
        ;(results === 1 ? goOn : end)()
      }
    }
  } catch (error) {
    if (abortController?.signal.aborted !== true) {
      throw error
    }
  } finally {
    goOn()
    end()
    api.stop()
  }
  return { messages, requests: api.requests, tools: api.tools, waits: api.waits }
}
