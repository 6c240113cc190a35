/**
 * Type test: code written against specification 2 (numbers as task ids) compiles unchanged under `strict`. Compiled by
 * `tsc --noEmit`, never run.
 */

import {
  ContextManager,
  type ContextManagerOptions,
  type ContextPointer,
  createToolRecorder,
  DEFAULT_PERSIST_THRESHOLD,
  type IFileSystem,
  type SelectedContext,
  type StoredContext,
  type ToolRecorder,
} from '../../dist/index.js'

// The specification's own types, word for word.

interface Spec2Pointer {
  filepath: string
  filename: string
  toolName: string
  toolDescription: string
  args: Record<string, unknown>
  taskId?: number
  queryId?: string
}

interface Spec2StoredContext {
  toolName: string
  toolDescription: string
  args: Record<string, unknown>
  timestamp: string
  taskId?: number
  queryId?: string
  result: unknown
}

interface Spec2Options {
  contextDir?: string
  persistThreshold?: number
  fileSystem?: IFileSystem
  onDebug?: (msg: string, data?: unknown) => void
}

interface Spec2ContextManager {
  saveContext(
    toolName: string,
    args: Record<string, unknown>,
    result: unknown,
    taskId?: number,
    queryId?: string,
  ): Promise<string>
  getAllPointers(): Spec2Pointer[]
  getPointersForQuery(queryId: string): Spec2Pointer[]
  getPointersForTask(taskId: number): Spec2Pointer[]
  loadContexts(filepaths: string[]): Promise<Spec2StoredContext[]>
  selectRelevantContexts(query: string, availablePointers: Spec2Pointer[]): string[]
  clearPointers(): void
  clearContextDir(): Promise<void>
  clear(): Promise<void>
}

/** The mock of the specification's unit tests: a class over a map, without `rename`. */
class MockFileSystem implements IFileSystem {
  private readonly files = new Map<string, string>()
  private readonly directories = new Set<string>()

  async readFile(path: string): Promise<string> {
    const content = this.files.get(path)
    if (content === undefined) {
      throw new Error(`File not found: ${path}`)
    }
    return content
  }
  async writeFile(path: string, content: string): Promise<void> {
    this.files.set(path, content)
  }
  async exists(path: string): Promise<boolean> {
    return this.files.has(path) || this.directories.has(path)
  }
  async mkdir(path: string): Promise<void> {
    this.directories.add(path)
  }
  async chmod(_path: string, _mode: number): Promise<void> {}
  resolvePath(path: string): string {
    return path.replace(/^~/, this.getHomeDir())
  }
  joinPath(...segments: string[]): string {
    return segments.join('/')
  }
  getHomeDir(): string {
    return '/home/user'
  }
  getCwd(): string {
    return '/work'
  }
  dirname(filePath: string): string {
    return filePath.slice(0, filePath.lastIndexOf('/'))
  }
  async unlink(path: string): Promise<void> {
    this.files.delete(path)
  }
  async readdir(path: string): Promise<string[]> {
    return [...this.files.keys()]
      .filter((file) => file.startsWith(`${path}/`))
      .map((file) => file.slice(path.length + 1))
  }
}

/** The specification's flow, in the words of its tasks and tests. */
export async function flow(): Promise<string> {
  const messages: string[] = []
  const options: ContextManagerOptions = {
    contextDir: '~/.agent/context',
    persistThreshold: 32 * 1024,
    fileSystem: new MockFileSystem(),
    onDebug: (msg, data) => messages.push(`${msg} ${JSON.stringify(data)}`),
  }
  const manager = new ContextManager(options)
  const withDefaults: ContextManager = new ContextManager()
  const withNothing = new ContextManager({})
  const filepath: string = await manager.saveContext('read_file', { path: '/a.ts' }, { content: 'text' }, 1, 'q_1')
  await manager.saveContext('read_file', {}, null)
  await manager.saveContext('read_file', {}, undefined, undefined, 'q_1')

  const pointers: ContextPointer[] = manager.getAllPointers()
  const [first] = pointers
  if (first !== undefined) {
    first.args['path'] = 'changed' // a copy
    const taskId: number | undefined = first.taskId
    const queryId: string | undefined = first.queryId
    messages.push(first.filename, first.toolDescription, String(taskId), String(queryId))
  }
  const forQuery: ContextPointer[] = manager.getPointersForQuery('q_1')
  const forTask: ContextPointer[] = manager.getPointersForTask(1)
  const relevant: string[] = manager.selectRelevantContexts('which file?', [...forQuery, ...forTask])
  const alsoRelevant: string[] = await manager.selectRelevantContexts('an await works too', pointers)
  const loaded: StoredContext[] = await manager.loadContexts([...relevant, ...alsoRelevant, filepath])
  const timestamps: string[] = loaded.map((context) => context.timestamp)
  const results: unknown[] = loaded.map(({ result }) => result)

  manager.clearPointers()
  await manager.clearContextDir()
  await manager.clear()
  await withDefaults.clear()
  await withNothing.clear()
  return [...messages, ...timestamps, String(results.length), String(DEFAULT_PERSIST_THRESHOLD)].join('\n')
}

/** The class and its types can be used in place of the specification's. */
export const asSpecified: Spec2ContextManager = new ContextManager()
export const asSpecifiedWithOptions = (options: Spec2Options): Spec2ContextManager => new ContextManager(options)
export const asPointer = (pointer: ContextPointer): Spec2Pointer => pointer
export const asStored = (context: StoredContext): Spec2StoredContext => context
export const asSelectable = (manager: ContextManager, pointers: Spec2Pointer[]): string[] =>
  manager.selectRelevantContexts('query', pointers)

/** A typed result. */
export async function typed(manager: ContextManager): Promise<number> {
  const context = await manager.loadContext<{ rows: number[] }>('path')
  const unknown: StoredContext = await manager.loadContext('path')
  return context.result.rows.length + unknown.toolName.length
}

/** `await using`, subclassing, the recorder with a plain and with a string manager. */
export async function scoped(): Promise<number> {
  await using manager = new ContextManager()
  class Counting extends ContextManager {
    count = 0
    override saveContext(...parameters: Parameters<ContextManager['saveContext']>): Promise<string> {
      this.count++
      return super.saveContext(...parameters)
    }
  }
  const recorder: ToolRecorder = createToolRecorder(new Counting())
  createToolRecorder(new ContextManager<string>(), { taskId: (context) => context.traceId })
  const wrapped = recorder.wrap({ onLlmEnd: (text: string) => text.length })
  wrapped.onToolEnd({ traceId: 't', spanId: 's' }, 'tool', { success: true, result: 1, message: '' })
  wrapped.onToolEnd(
    { traceId: 't', spanId: 's' },
    'tool',
    { success: false, error: '', message: '' },
    { success: false },
  )
  const length: number = wrapped.onLlmEnd('text')
  return manager.size + length
}

export function wrong(manager: ContextManager): void {
  // @ts-expect-error a tool's name is a string
  void manager.saveContext(5, {}, null)
  // @ts-expect-error arguments are an object
  void manager.saveContext('tool', 'arguments', null)
  // @ts-expect-error a result has to be given
  void manager.saveContext('tool', {})
  // @ts-expect-error a task is a number or a string
  void manager.saveContext('tool', {}, null, true)
  // @ts-expect-error a query's id is a string
  void manager.saveContext('tool', {}, null, 1, 2)
  // @ts-expect-error one path
  void manager.loadContext(['path'])
  // @ts-expect-error several paths
  void manager.loadContexts('path')
  // @ts-expect-error a query's id is a string
  manager.getPointersForQuery(1)
  // @ts-expect-error a task is no object
  manager.getPointersForTask({})
  // @ts-expect-error pointers, not paths
  manager.selectRelevantContexts('query', ['path'])
  // @ts-expect-error a limit is a number
  void manager.selectContexts('query', { limit: '3' })
  // @ts-expect-error a signal is an AbortSignal
  void manager.sweep({ signal: true })
  // @ts-expect-error there is no such option
  new ContextManager({ contextDirectory: '/tmp' })
  // @ts-expect-error 'all' or 'large'
  new ContextManager({ persist: 'none' })
  // @ts-expect-error a number of bytes
  new ContextManager({ persistThreshold: '32KB' })
  // @ts-expect-error a duration is a string
  new ContextManager({ retention: { maxAge: 7 } })
  // @ts-expect-error a file system has more than that
  new ContextManager({ fileSystem: { readFile: async () => '' } })
  // @ts-expect-error tasks are numbers or strings
  new ContextManager<boolean>()
  // @ts-expect-error read only
  manager.sessionId = 'another'
  // @ts-expect-error read only
  manager.size = 0
  // @ts-expect-error a number may be absent
  const task: number = manager.getAllPointers()[0]?.taskId
  // @ts-expect-error a result is unknown until it is named
  void manager.loadContext('path').then(({ result }) => result.rows)
  // @ts-expect-error a recorder needs a manager
  createToolRecorder({})
  // @ts-expect-error a failure has an error
  createToolRecorder(manager).onToolEnd({ traceId: 't', spanId: 's' }, 'tool', { success: false, message: '' })
  void task
}

// No `any` leaks.

type IsAny<T> = 0 extends 1 & T ? true : false
type IsExactly<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
type Holds<T extends true> = T
type HasNoAny<T> = true extends { [Key in keyof T]-?: IsAny<T[Key]> }[keyof T] ? false : true
type Results = {
  [Key in keyof ContextManager]: ContextManager[Key] extends (...parameters: never) => infer R
    ? Awaited<R>
    : ContextManager[Key]
}

export type Checks = [
  Holds<HasNoAny<Results>>,
  Holds<HasNoAny<ContextPointer>>,
  Holds<HasNoAny<StoredContext>>,
  Holds<HasNoAny<ContextManagerOptions>>,
  Holds<HasNoAny<IFileSystem>>,
  Holds<HasNoAny<ReturnType<ContextManager['stats']>>>,
  Holds<HasNoAny<Awaited<ReturnType<ContextManager['sweep']>>>>,
  Holds<HasNoAny<ToolRecorder>>,
  Holds<IsExactly<ReturnType<ContextManager['getAllPointers']>, ContextPointer[]>>,
  Holds<IsExactly<ReturnType<ContextManager['listContexts']>, Promise<ContextPointer[]>>>,
  Holds<IsExactly<ReturnType<ContextManager['selectContexts']>, Promise<SelectedContext[]>>>,
  Holds<IsExactly<ReturnType<ContextManager['selectRelevantContexts']>, string[]>>,
  Holds<IsExactly<ReturnType<ContextManager['saveContext']>, Promise<string>>>,
  Holds<IsExactly<ReturnType<ContextManager['forget']>, Promise<boolean>>>,
  Holds<IsExactly<ContextPointer['args'], Record<string, unknown>>>,
  Holds<IsExactly<StoredContext['result'], unknown>>,
  Holds<IsExactly<StoredContext<Date>['result'], Date>>,
  Holds<IsExactly<ReturnType<typeof ContextManager.hashQuery>, string>>,
  Holds<IsExactly<ContextManager['sessionId'], string>>,
  Holds<IsExactly<ContextManager['size'], number>>,
]
