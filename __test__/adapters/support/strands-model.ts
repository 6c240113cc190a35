/** A model of Strands that follows a script. */

import { type BaseModelConfig, type Message, Model, type ModelStreamEvent } from '@strands-agents/sdk'
import { type Script, stepOf } from './script.ts'

export class ScriptedModel extends Model {
  /** What the model was sent, as JSON. */
  readonly requests: string[] = []
  readonly #script: Script

  constructor(script: Script) {
    super()
    this.#script = script
  }

  override updateConfig(): void {}

  override getConfig(): BaseModelConfig {
    return { modelId: 'scripted' }
  }

  override async *stream(messages: Message[]): AsyncIterable<ModelStreamEvent> {
    const request = JSON.stringify(messages)
    const step = stepOf(this.#script, this.requests.length, request)
    this.requests.push(request)
    yield { type: 'modelMessageStartEvent', role: 'assistant' }
    if (typeof step === 'string') {
      yield { type: 'modelContentBlockStartEvent' }
      yield { type: 'modelContentBlockDeltaEvent', delta: { type: 'textDelta', text: step } }
      yield { type: 'modelContentBlockStopEvent' }
    } else {
      for (const [index, { tool: name, input }] of step.entries()) {
        const toolUseId = `call-${this.requests.length}-${index}`
        yield { type: 'modelContentBlockStartEvent', start: { type: 'toolUseStart', name, toolUseId } }
        yield {
          type: 'modelContentBlockDeltaEvent',
          delta: { type: 'toolUseInputDelta', input: JSON.stringify(input) },
        }
        yield { type: 'modelContentBlockStopEvent' }
      }
    }
    yield { type: 'modelMessageStopEvent', stopReason: typeof step === 'string' ? 'endTurn' : 'toolUse' }
  }
}

/** What a model does that finds a reference of `ContextOffloader`: it looks for customer 7 in what was stored. */
export function retrieve(request: string) {
  const [, reference = ''] =
    /\[Stored references:\]\\n {2}([^ ]+) \(/.exec(request) ?? /(mem_[^\s")\\,\]]+)/.exec(request) ?? []
  return [{ tool: 'retrieve_offloaded_content', input: { reference, pattern: 'Customer number 7\\b' } }]
}
