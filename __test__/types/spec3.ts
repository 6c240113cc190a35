/**
 * Type test: specification 3's interface (strings as task ids) is satisfied by `ContextManager<string>`. Compiled by
 * `tsc --noEmit`, never run.
 */

import { ContextManager, type ContextPointer, type StoredContext } from '../../dist/index.js'

// The specification's own types, word for word; its static members are declared separately.

interface Spec3Pointer {
  filepath: string
  toolName: string
  timestamp: number
  sizeBytes: number
  queryId?: string
}

interface IContextManager {
  saveContext(
    toolName: string,
    args: Record<string, unknown>,
    result: unknown,
    taskId?: string,
    queryId?: string,
  ): Promise<string>
  loadContext(filepath: string): Promise<unknown>
  listContexts(sessionId: string): Promise<Spec3Pointer[]>
  clearContexts(): Promise<void>
}

interface IContextManagerStatic {
  hashQuery(query: string): string
}

export const manager: IContextManager = new ContextManager<string>()
export const statics: IContextManagerStatic = ContextManager
export class Implementing extends ContextManager<string> implements IContextManager {}
export const asPointer = (pointer: ContextPointer<string>): Spec3Pointer => pointer

/** The specification's life cycle. */
export async function session(): Promise<string[]> {
  const contexts = new ContextManager<string>({ sessionId: 'session-abc123' })
  const queryId = ContextManager.hashQuery('TODO')
  const filepath = await contexts.saveContext('search_code', { query: 'TODO' }, { matches: 150 }, 'task-1', queryId)
  const stored: StoredContext<unknown, string> = await contexts.loadContext(filepath)
  const task: string | undefined = stored.taskId
  const session: string | undefined = stored.sessionId
  const listed: ContextPointer<string>[] = await contexts.listContexts('session-abc123')
  const tasks: (string | undefined)[] = contexts.getPointersForTask('task-1').map((pointer) => pointer.taskId)
  const bytes: number = listed.reduce((sum, { sizeBytes, timestamp }) => sum + sizeBytes + timestamp, 0)
  await contexts.clearContexts()
  return [task ?? '', session ?? '', String(bytes), ...tasks.map(String)]
}

export async function wrong(contexts: ContextManager<string>): Promise<void> {
  // @ts-expect-error a task is a string here
  const task: number | undefined = contexts.getAllPointers()[0]?.taskId
  // @ts-expect-error a task is a string here
  const listed: ContextPointer[] = await contexts.listContexts()
  // @ts-expect-error a session's id is a string
  await contexts.listContexts(1)
  // @ts-expect-error it has no such static
  ContextManager.hashArgs({})
  // @ts-expect-error it is static
  contexts.hashQuery('query')
  // @ts-expect-error nothing is given back
  const cleared: number = await contexts.clearContexts()
  void [task, listed, cleared]
}

type IsExactly<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
type Holds<T extends true> = T

export type Checks = [
  Holds<IsExactly<ContextPointer<string>['taskId'], string | undefined>>,
  Holds<IsExactly<ReturnType<ContextManager<string>['getAllPointers']>, ContextPointer<string>[]>>,
  Holds<IsExactly<Awaited<ReturnType<ContextManager<string>['loadContexts']>>, StoredContext<unknown, string>[]>>,
  Holds<
    IsExactly<
      Awaited<ReturnType<ContextManager<number | string>['loadContext']>>['taskId'],
      number | string | undefined
    >
  >,
]
