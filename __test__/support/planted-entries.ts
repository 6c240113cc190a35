/** Sends planted secrets through context stores, and shows a sweep all that comes back. */

import assert from 'node:assert/strict'
import { ContextStore, type ContextStoreOptions, contextStoreTools, type RedactionOptions } from '../../dist/index.js'
import type { Planted } from './planted-secrets.ts'
import { inBatches, listeners, outcome } from './planted-work.ts'
import type { SecretSweep } from './secret-sweep.ts'

type StoreOptions = Omit<ContextStoreOptions, 'agent' | 'durability'> & {
  path: string
  redaction: false | RedactionOptions
}

/** More entries than there are. */
const ALL = 100_000

/** A value in running text. */
const worded = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

/** An entry with a secret in every part of it. */
function draft({ text, value: given }: Planted) {
  const value = worded(given)
  // A tag is one line, and in prose nothing looks behind the escapes of JSON.
  const lines = [text, value].filter((one) => !/[\r\n]/.test(one))
  return {
    type: 'finding' as const,
    slug: text,
    content: `# ${value}\n\nline\n${text}\nend\n\n\`\`\`json\n${JSON.stringify({ inner: lines })}\n\`\`\`\n`,
    tags: lines,
  }
}

/** All ways into a context store, and all ways out of it. */
export async function keepEntries(
  planted: readonly Planted[],
  sweep: SecretSweep,
  options: StoreOptions,
  look: () => void,
): Promise<void> {
  // Durable writes hold the same text, and take long.
  const common = { ...options, ...listeners(sweep, options.redaction), durability: 'process' as const }
  const store = new ContextStore({ ...common, agent: 'planter' })
  const tools = contextStoreTools(new ContextStore({ ...common, agent: 'model', sessionId: 'planted' }))
  const tool = (name: string) => {
    const found = tools.find((one) => one.name === name)
    assert.ok(found !== undefined, `there is no tool ${name}`)
    return (parameters: Record<string, unknown>) =>
      outcome(sweep, 'answers of the store tools', found.execute(parameters as never))
  }
  const paths: string[] = []
  const keep = async (plant: Planted): Promise<void> => {
    const { text } = plant
    const value = worded(plant.value)
    const given = draft(plant)
    const before = structuredClone(given)
    const entry = await outcome(sweep, 'entries', store.write(given))
    const path = (entry as { path?: string } | undefined)?.path
    if (path !== undefined) {
      paths.push(path)
      const change = { content: `now ${text}`, addTags: given.tags }
      await outcome(sweep, 'entries changed', store.update(path, change, `it is\n${text}\nand\n${value}`))
      await outcome(sweep, 'entries superseded', store.supersede(path, given, `because of\n${text}`))
      await outcome(sweep, 'entries read', store.read(path))
    }
    await tool('context_write')(given)
    assert.deepEqual(given, before, 'what was passed is changed')
  }
  await inBatches(planted, keep, look)
  await outcome(sweep, 'entries found', store.search({ limit: ALL }))
  await outcome(sweep, 'summaries', store.list())
  await outcome(sweep, 'checks of the store', store.verify())
  for (const plant of planted.slice(0, 20)) {
    const { text } = plant
    const value = worded(plant.value)
    await tool('context_search')({ query: value })
    await outcome(sweep, 'entries asked for', store.search({ tags: draft(plant).tags }))
    await tool('context_read')({ path: value })
    // What cannot be done is said without naming secrets.
    await outcome(sweep, 'nothing', store.read(`planter/${value}`))
    await outcome(sweep, 'nothing', store.link(paths[0] ?? 'planter/x.md', text))
  }
  await store.close()
  look()
}
