/**
 * Type test: specification 1 in TypeScript. Compiled by `tsc --noEmit`, never run.
 */

import {
  type AutoRecorder,
  autoRecord,
  type CompactPolicy,
  type CompactReport,
  type ContextEntry,
  type ContextEntryInput,
  ContextHistory,
  type ContextHistoryOptions,
  ContextManager,
  createToolRecorder,
  DEFAULT_HISTORY_PATH,
  type HistoryFilter,
  type IFileSystem,
  type ReadContextParameters,
  readContextTool,
  type ToolDefinition,
  type ToolInvoked,
  type ToolResult,
  type VerifyReport,
} from '../../dist/index.js'

/** The design's own types, word for word. */
interface DesignedEntry {
  id: string
  toolName: string
  params: unknown
  result: unknown
  success: boolean
  summary: string | null
  timestamp: string | null
}

interface DesignedHistory {
  append(entry: ContextEntryInput): Promise<DesignedEntry>
  read(limit?: number): Promise<DesignedEntry[]>
  search(filter: HistoryFilter): Promise<DesignedEntry[]>
  recordDecision(summary: string, details?: unknown): Promise<DesignedEntry>
}

/** A bus as applications have them, with an event type of their own. */
interface ToolFinished {
  readonly kind: 'tool-finished'
  readonly toolName: string
  readonly params: Record<string, unknown>
  readonly result: unknown
  readonly success: boolean
  readonly at: Date
}

interface Bus {
  subscribe(kind: 'tool-finished', observer: (event: ToolFinished) => void): void
}

/** The specification's flow: record, recall, search, decide. */
export async function flow(bus: Bus, fileSystem: IFileSystem): Promise<string> {
  const options: ContextHistoryOptions = {
    path: DEFAULT_HISTORY_PATH,
    fileSystem,
    durability: 'full',
    lockTimeout: 500,
    maxEntryBytes: 1024,
    onDebug: (message, data) => console.log(message, data),
  }
  await using history = new ContextHistory(options)
  const withDefaults = new ContextHistory()

  const observer: AutoRecorder = autoRecord(history, { onError: (error, toolName) => console.log(toolName, error) })
  const asDesigned: ((event: ToolInvoked) => void) & { flush(): Promise<void> } = observer
  bus.subscribe('tool-finished', observer)
  observer({ toolName: 'grep', params: { pattern: 'auth' }, result: { matches: 15 }, success: true })
  observer({ name: 'grep', timestamp: new Date() })
  await asDesigned.flush()

  const entry: ContextEntry = await history.append({ toolName: 'grep' })
  await history.append({ toolName: 'grep', timestamp: 5, summary: null, id: undefined, cost: 1 })
  await history.append(entry)
  await history.append({ ...entry, timestamp: null, summary: 'again' })
  const cost: unknown = entry['cost']
  const { signal } = new AbortController()
  const recent: ContextEntry[] = await history.read()
  await history.read(10)
  await history.read(10, { signal })
  const found: ContextEntry[] = await history.search({ toolName: ['a', 'b'], success: true, since: 5, signal })
  await history.search({ toolName: 'a', until: new Date(), text: 'login', limit: 5 })
  await history.recordDecision('Use cookies', { because: 'safer' })

  const policy: CompactPolicy = {
    keepLast: 100,
    maxAge: '30d',
    maxBytes: 1e6,
    summarise: (entries) => entries[0]?.id ?? '',
  }
  const report: CompactReport = await history.compact({ ...policy, summarise: async () => 'text', signal })
  const summary: string | null | undefined = report.summaryEntry?.summary
  const verified: VerifyReport = await history.verify()
  const index: 'missing' | 'valid' | 'stale' | 'damaged' = verified.index
  const offsets: number[] = verified.problems.map(({ offset }) => offset)

  const tool: ToolDefinition<ReadContextParameters, ContextEntry[]> = readContextTool(history, { maxBytes: 10_000 })
  const result: ToolResult<ContextEntry[]> = await tool.execute({ limit: 10 })
  const names: string[] | undefined = result.value?.map(({ toolName }) => toolName)
  await readContextTool(null).execute()

  createToolRecorder(history)
  createToolRecorder(new ContextManager(), { history })
  createToolRecorder(new ContextManager<string>(), { history: null, taskId: () => 'task' })
  await withDefaults.close()
  return [recent.length, found.length, cost, summary, index, offsets, names, history.path].join()
}

export const asDesigned = (history: ContextHistory): DesignedHistory => history
export const asDesignedEntry = (entry: ContextEntry): DesignedEntry => entry

export function wrong(history: ContextHistory): void {
  // @ts-expect-error an entry has a tool
  void history.append({ params: {} })
  // @ts-expect-error a tool's name is a string
  void history.append({ toolName: 5 })
  // @ts-expect-error the line's spelling
  void history.append({ toolName: 'grep', tool_name: 'grep' })
  // @ts-expect-error success is true or false
  void history.append({ toolName: 'grep', success: 'yes' })
  // @ts-expect-error a limit is a number
  void history.read('10')
  // @ts-expect-error a filter has to be given
  void history.search()
  // @ts-expect-error there is no such condition
  void history.search({ tool: 'grep' })
  // @ts-expect-error a time is no boolean
  void history.search({ since: true })
  // @ts-expect-error a policy has to be given
  void history.compact()
  // @ts-expect-error a duration is a string
  void history.compact({ maxAge: 7 })
  // @ts-expect-error a summary is a string
  void history.compact({ keepLast: 1, summarise: () => 5 })
  // @ts-expect-error a decision is a string
  void history.recordDecision({ because: 'safer' })
  // @ts-expect-error read only
  history.path = 'another'
  // @ts-expect-error there is no such option
  new ContextHistory({ file: 'a.jsonl' })
  // @ts-expect-error an observer needs a history
  autoRecord()
  // @ts-expect-error the events of a bus are objects
  autoRecord(history)('grep')
  // @ts-expect-error a limit is a number
  void readContextTool(history).execute({ limit: '10' })
  // @ts-expect-error a time may be absent
  void history.read().then(([entry]) => entry?.timestamp.length)
  // @ts-expect-error a recorder's history is a history
  createToolRecorder(history, { history: 'a.jsonl' })
}

// No `any` leaks.

type IsAny<T> = 0 extends 1 & T ? true : false
type IsExactly<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
type Holds<T extends true> = T
type HasNoAny<T> = true extends { [Key in keyof T]-?: IsAny<T[Key]> }[keyof T] ? false : true
type Results = {
  [Key in keyof ContextHistory]: ContextHistory[Key] extends (...parameters: never) => infer R
    ? Awaited<R>
    : ContextHistory[Key]
}

export type Checks = [
  Holds<HasNoAny<Results>>,
  Holds<HasNoAny<ContextEntry>>,
  Holds<HasNoAny<ContextEntryInput>>,
  Holds<HasNoAny<ContextHistoryOptions>>,
  Holds<HasNoAny<HistoryFilter>>,
  Holds<HasNoAny<CompactPolicy>>,
  Holds<HasNoAny<CompactReport>>,
  Holds<HasNoAny<VerifyReport>>,
  Holds<HasNoAny<ToolInvoked>>,
  Holds<HasNoAny<ToolDefinition>>,
  Holds<HasNoAny<ToolResult>>,
  Holds<IsExactly<ReturnType<ContextHistory['append']>, Promise<ContextEntry>>>,
  Holds<IsExactly<ReturnType<ContextHistory['read']>, Promise<ContextEntry[]>>>,
  Holds<IsExactly<ReturnType<ContextHistory['search']>, Promise<ContextEntry[]>>>,
  Holds<IsExactly<ReturnType<ContextHistory['close']>, Promise<void>>>,
  Holds<IsExactly<ContextEntry['toolName'], string>>,
  Holds<IsExactly<ContextEntry['timestamp'], string | null>>,
  Holds<IsExactly<ContextEntry['result'], unknown>>,
]
