/** A session of Pi whose model follows a script. */

import { createFauxCore, fauxAssistantMessage, fauxToolCall } from '@earendil-works/pi-ai'
import {
  createAgentSession,
  DefaultResourceLoader,
  type ExtensionAPI,
  ModelRuntime,
  type SessionManager,
  SettingsManager,
} from '@earendil-works/pi-coding-agent'
import { type Script, stepOf } from './script.ts'

/** What differs from run to run. */
const LEFT_OUT: ReadonlySet<string> = new Set(['timestamp', 'usage'])

export async function scriptedSession(given: {
  script: Script
  cwd: string
  sessionManager: SessionManager
  extensions: ((pi: ExtensionAPI) => void)[]
}) {
  const { script, cwd, sessionManager, extensions } = given
  /** The conversation that the model was sent, as JSON. */
  const requests: string[] = []
  const faux = createFauxCore({
    api: 'scripted',
    provider: 'scripted',
    models: [{ id: 'model', input: ['text', 'image'] }],
    // Pieces of one size: by default they differ from run to run.
    tokenSize: { min: 2, max: 2 },
  })
  const answer: Parameters<typeof faux.setResponses>[0][number] = ({ messages }) => {
    const conversation = messages.filter(({ role }) => role !== 'system')
    const request = JSON.stringify(conversation, (name, member) => (LEFT_OUT.has(name) ? undefined : member))
    const step = stepOf(script, requests.length, request)
    requests.push(request)
    const id = (index: number) => ({ id: `call-${requests.length}-${index}` })
    return typeof step === 'string'
      ? fauxAssistantMessage(step)
      : fauxAssistantMessage(
          step.map(({ tool, input }, index) => fauxToolCall(tool, input as Record<string, never>, id(index))),
          { stopReason: 'toolUse' },
        )
  }
  faux.setResponses(Array.from({ length: script.length + 1 }, () => answer))
  const modelRuntime = await ModelRuntime.create({
    authPath: `${cwd}/auth.json`,
    modelsPath: null,
    modelsStorePath: `${cwd}/models.json`,
    refreshOnCreate: false,
  })
  const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }
  modelRuntime.registerProvider('scripted', {
    api: 'scripted',
    baseUrl: 'http://localhost',
    apiKey: 'none',
    streamSimple: faux.streamSimple,
    models: [
      {
        id: 'model',
        name: 'model',
        reasoning: false,
        input: ['text', 'image'],
        cost,
        contextWindow: 1e6,
        maxTokens: 1e4,
      },
    ],
  })
  const settingsManager = SettingsManager.inMemory({ compaction: { enabled: false }, retry: { enabled: false } })
  const resourceLoader = new DefaultResourceLoader({
    cwd,
    agentDir: cwd,
    settingsManager,
    extensionFactories: extensions,
    noExtensions: true,
    noSkills: true,
    noPromptTemplates: true,
    noThemes: true,
    noContextFiles: true,
  })
  await resourceLoader.reload()
  const model = modelRuntime.getModel('scripted', 'model')
  const options = { cwd, agentDir: cwd, modelRuntime, resourceLoader, sessionManager, settingsManager }
  const { session } = await createAgentSession({ ...options, ...(model && { model }), thinkingLevel: 'off' })
  await session.bindExtensions({})
  return { session, requests }
}
