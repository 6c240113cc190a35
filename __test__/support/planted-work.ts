/** Sends planted secrets through the public interface, and shows a sweep all that comes back. */

import assert from 'node:assert/strict'
import {
  autoRecord,
  ContextHistory,
  type ContextHistoryOptions,
  ContextManager,
  type ContextManagerOptions,
  contextTools,
  createToolRecorder,
  type RedactionOptions,
  type RedactionReport,
  readContextTool,
  type SliceOptions,
  type ToolResponse,
} from '../../dist/index.js'
import type { Planted } from './planted-secrets.ts'
import type { SecretSweep } from './secret-sweep.ts'

const FILLER = 'wombats dig at night and sleep by day\n'
const MEGABYTE = 2 ** 20
/** Placeholders do not stand for what is shorter than they are. */
const LONG = FILLER.repeat(120)
const PREVIEW = 2048 // bytes
/** The size of a result that is stored in a file. */
const LARGE = 40_000 // bytes
const DEPTH = 40
/** More entries than there are. */
const ALL = 10_000
/** Ways to a part of a result. */
const SLICES: readonly SliceOptions[] = [{}, { lines: { from: 1 } }, { grep: '.' }, { jsonPath: '$' }]
/** Calls under way at once. */
const IN_FLIGHT = 50

type ManagerOptions = ContextManagerOptions & { contextDir: string; redaction: false | RedactionOptions }
type HistoryOptions = ContextHistoryOptions & { path: string; redaction: false | RedactionOptions }

/** A call with a secret in every part of it. */
function call({ text, value }: Planted) {
  let deep: unknown = value
  for (let level = 0; level < DEPTH; level++) {
    deep = level % 2 === 0 ? [deep] : { level: deep }
  }
  return {
    toolName: text,
    args: { value, note: text, deep, list: [text, [value]], [text]: 'key' },
    results: {
      object: {
        text: `line\n${text}\nend`,
        value,
        deep,
        list: [value, text],
        embedded: JSON.stringify({ inner: value, text }),
        escaped: JSON.stringify(JSON.stringify({ inner: value, text })),
        sourceUrls: [text],
        [text]: 'key',
      },
      text: `line\n${text}\nend`,
      array: [value, [text]],
    },
    taskId: text,
    queryId: text,
    outcome: { success: false, error: text, message: text },
  }
}

type Call = ReturnType<typeof call>

/** Collects the arguments of all callbacks. */
export function listeners(sweep: SecretSweep, redaction: false | RedactionOptions) {
  const onDebug = (message: string, data?: unknown): void => {
    sweep.look('debug messages', `${message}\n${show(data)}`)
  }
  const onRedaction = (report: RedactionReport): void => sweep.look('reports', report)
  return { onDebug, redaction: redaction === false ? redaction : { ...redaction, onRedaction } }
}

/** As a logger shows it. */
function show(value: unknown): string {
  if (value instanceof AggregateError) {
    return [value.message, value.stack, ...value.errors.map(show)].join('\n')
  }
  if (value instanceof Error) {
    return [value.message, value.stack, JSON.stringify(value)].join('\n')
  }
  return typeof value === 'object' && value !== null ? Object.values(value).map(show).join('\n') : String(value)
}

/** What a promise gives, or what it is rejected with. */
export async function outcome(sweep: SecretSweep, where: string, work: Promise<unknown>): Promise<unknown> {
  try {
    const value = await work
    sweep.look(where, value)
    return value
  } catch (error) {
    sweep.look('errors', show(error))
    return undefined
  }
}

export async function inBatches<T>(
  items: readonly T[],
  work: (item: T, index: number) => Promise<void>,
  look: () => void = () => {},
): Promise<void> {
  for (let first = 0; first < items.length; first += IN_FLIGHT) {
    await Promise.all(items.slice(first, first + IN_FLIGHT).map((item, index) => work(item, first + index)))
    look()
  }
}

/** All ways into a manager, and all ways out of it. */
export async function storeContexts(
  planted: readonly Planted[],
  sweep: SecretSweep,
  options: ManagerOptions,
  look: () => void,
): Promise<void> {
  const manager = new ContextManager({
    ...options,
    ...listeners(sweep, options.redaction),
    describe: (_, args) => `described\n${args['note'] ?? ''}`,
    offload: { threshold: 1, previewBytes: PREVIEW },
  })
  const paths: string[] = []
  const store = async (plant: Planted): Promise<void> => {
    const given = call(plant)
    const before = structuredClone(given)
    for (const result of Object.values(given.results)) {
      const path = await outcome(sweep, 'paths', save(manager, given, result))
      if (typeof path === 'string') {
        paths.push(path)
      }
    }
    assert.deepEqual(given, before, 'what was passed is changed')
  }
  await inBatches(planted, store, look)
  await offload(manager, planted.map(call), sweep)
  look()
  await recordCalls(createToolRecorder(manager, { taskId: ({ spanId }) => spanId, ...told(sweep) }), planted, sweep)
  look()
  await readBack(manager, paths, planted, sweep)
  await manager.clear()
  await manager.close()
  look()
}

function save(manager: ContextManager, { toolName, args, taskId, queryId, outcome }: Call, result: unknown) {
  return manager.saveContext(toolName, args, result, taskId, queryId, outcome)
}

async function offload(manager: ContextManager, calls: readonly Call[], sweep: SecretSweep): Promise<void> {
  const given = calls.flatMap(({ toolName, args, results, taskId, queryId }) =>
    [`${results.text}\n${LONG}`, [...results.array, LONG]].map((result) => ({
      toolName,
      args,
      result,
      options: { taskId, queryId },
    })),
  )
  await inBatches(given, async ({ toolName, args, result, options }) =>
    lookAtOffloaded(await manager.offload(toolName, args, result, options), sweep),
  )
  for (const offloaded of await manager.offloadAll(given)) {
    lookAtOffloaded(offloaded, sweep)
  }
}

type Offloaded = Awaited<ReturnType<ContextManager['offload']>>

function lookAtOffloaded({ text, isOffloaded, handle, filepath, error }: Offloaded, sweep: SecretSweep): void {
  // An output that could not be stored stays unchanged in the conversation.
  assert.equal(isOffloaded, error === undefined, 'offloaded')
  sweep.look(isOffloaded ? 'placeholders' : 'errors', isOffloaded ? text : show(error))
  sweep.look('handles', `${handle} ${filepath}`)
}

/** The failures that a recorder reports. */
function told(sweep: SecretSweep) {
  return { onError: (error: unknown, toolName: string) => void [toolName, sweep.look('errors', show(error))] }
}

/** A run of an agent for each secret: with callbacks of its own, and with tools that fail. */
async function recordCalls(
  recorder: ReturnType<typeof createToolRecorder>,
  planted: readonly Planted[],
  sweep: SecretSweep,
): Promise<void> {
  const callbacks = recorder.wrap({ onToolEnd: () => 'own' })
  for (const [index, plant] of planted.entries()) {
    const { toolName, args, results } = call(plant)
    const context = { traceId: plant.text, spanId: plant.text }
    const { onAgentStart, onToolStart, onToolEnd } = index % 2 === 0 ? recorder : callbacks
    onAgentStart(context, plant.text)
    const responses: ToolResponse[] = [
      { success: true, result: results.object, message: plant.text },
      { success: false, error: plant.text, message: plant.text },
    ]
    for (const response of responses) {
      onToolStart(context, toolName, args)
      onToolEnd(context, toolName, response, { success: response.success })
    }
    if (index % IN_FLIGHT === 0) {
      await outcome(sweep, 'flushes', recorder.flush())
    }
  }
  await outcome(sweep, 'flushes', recorder.flush())
}

async function readBack(
  manager: ContextManager,
  paths: readonly string[],
  planted: readonly Planted[],
  sweep: SecretSweep,
): Promise<void> {
  await outcome(sweep, 'loaded contexts', manager.loadContexts(paths))
  await inBatches(paths, async (path, index) => {
    await outcome(sweep, 'slices', manager.readContext(path, SLICES[index % SLICES.length]))
  })
  sweep.look('pointers', manager.getAllPointers())
  sweep.look('pointers', manager.getLatestPointers({ limit: paths.length }))
  await outcome(sweep, 'lists', manager.listContexts())
  await outcome(sweep, 'choices', manager.selectContexts('line end described', { explain: true }))
  const hits = manager.search('line OR end OR described', {
    limit: 10 * paths.length,
    snippets: 5,
    snippetLength: 4000,
  })
  await outcome(sweep, 'hits', hits)
  const [list, search, read] = contextTools(manager)
  await inBatches(planted, async ({ text }) => {
    sweep.look('pointers of a query', manager.getPointersForQuery(text))
    sweep.look('pointers of a task', manager.getPointersForTask(text))
    // These are no contexts, and the messages say which.
    await outcome(sweep, 'missing contexts', manager.loadContext(text))
    await outcome(sweep, 'missing contexts', manager.readContext(`${manager.getContextDir()}/missing ${text}`))
  })
  await outcome(sweep, 'lists of the tool', list.execute({}))
  await outcome(sweep, 'hits of the tool', search.execute({ query: 'line' }))
  await outcome(sweep, 'slices of the tool', read.execute({ handle: paths[0] ?? '' }))
}

/** All secrets in results of a megabyte; and small outputs that memory has no room for. */
export async function storeLargeContexts(
  planted: readonly Planted[],
  sweep: SecretSweep,
  options: ManagerOptions,
  look: () => void,
): Promise<void> {
  const listening = listeners(sweep, options.redaction)
  const manager = new ContextManager({ ...options, ...listening })
  const filler = FILLER.repeat(Math.ceil(MEGABYTE / planted.length / FILLER.length))
  const results = {
    text: planted.map(({ text }) => `${filler}\n${text}\n`).join('\n'),
    array: planted.map(({ value, text }) => ({ value, text, filler })),
    embedded: { text: JSON.stringify(planted.map(({ value, text }) => [value, text, filler])) },
  }
  for (const [kind, result] of Object.entries(results)) {
    const path = await manager.saveContext('large', { kind }, result)
    await outcome(sweep, `loaded ${kind} of a megabyte`, manager.loadContext(path))
  }
  look()
  await manager.clear()

  const narrow = new ContextManager({ ...options, ...listening, persist: 'large', memoryBudget: LARGE })
  const store = async (plant: Planted): Promise<void> => {
    const given = call(plant)
    const path = await save(narrow, given, given.results.object)
    sweep.look('loaded from memory', await narrow.loadContext(path))
    await save(narrow, given, `${FILLER.repeat(LARGE / FILLER.length)}\n${plant.text}\n${FILLER}`)
  }
  await inBatches(planted, store, look)
  assert.ok(narrow.stats().spills > 0, 'nothing left memory')
  sweep.look('pointers', narrow.getAllPointers())
  for (const { filepath } of narrow.getAllPointers()) {
    sweep.look('loaded after leaving memory', await narrow.loadContext(filepath))
  }
  await narrow.clear()
  await narrow.close()
  look()
}

/** All ways into a history, and all ways out of it. */
export async function recordHistory(
  planted: readonly Planted[],
  sweep: SecretSweep,
  options: HistoryOptions,
  look: () => void,
): Promise<void> {
  const history = new ContextHistory({ ...options, ...listeners(sweep, options.redaction) })
  const append = async (plant: Planted): Promise<void> => {
    const { toolName, args, results } = call(plant)
    const given = { toolName, params: args, result: results.object, summary: plant.text, note: plant.value }
    const before = structuredClone(given)
    await outcome(sweep, 'appended entries', history.append({ ...given, id: `id ${plant.text}`, [plant.text]: 'key' }))
    assert.deepEqual(given, before, 'what was passed is changed')
    await outcome(sweep, 'decisions', history.recordDecision(plant.text, plant.value))
  }
  await inBatches(planted, append, look)
  const observe = autoRecord(history, told(sweep))
  for (const plant of planted) {
    const { toolName, args, results } = call(plant)
    observe({ name: toolName, params: args, result: results.text })
    observe({ toolName: 'failed', params: plant.value, result: new Error(plant.text) })
  }
  await outcome(sweep, 'flushes', observe.flush())
  await recordCalls(createToolRecorder(history, told(sweep)), planted, sweep)
  look()
  await outcome(sweep, 'entries', history.read(ALL))
  await outcome(sweep, 'found entries', history.search({ text: 'line', limit: ALL }))
  await outcome(sweep, 'ranked entries', history.search({ text: 'line end', ranked: true, limit: ALL }))
  await outcome(sweep, 'entries of the tool', readContextTool(history).execute({ limit: 100 }))
  const summary = planted.map(({ text }) => text).join('\n\n')
  await outcome(sweep, 'compaction', history.compact({ keepLast: 1, summarise: () => summary }))
  await outcome(sweep, 'entries after compaction', history.read(ALL))
  await outcome(sweep, 'checks', history.verify())
  await history.close()
  look()
}
