/** What a scripted model was sent by Mastra, as JSON, without the times of messages. */

import type { scriptedModel } from './ai-sdk-model.ts'

export function requestsOf(model: ReturnType<typeof scriptedModel>): string[] {
  return [...model.doGenerateCalls, ...model.doStreamCalls].map(({ prompt }) =>
    JSON.stringify(prompt, (name, member) => (name === 'createdAt' ? undefined : member)),
  )
}
