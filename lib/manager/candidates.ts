/** Checks the pointers that callers pass for ranking. They may belong to another manager. */

import { invalidArgument } from '../arguments/errors.ts'
import type { SelectablePointer } from './types.ts'

/** @param name the parameter that holds the pointers, for messages */
export function checkPointer(pointer: unknown, name: string, index: number): SelectablePointer {
  if (typeof (pointer as SelectablePointer | null | undefined)?.filepath !== 'string') {
    throw invalidArgument(`${name}[${index}]`, 'a pointer with a filepath', pointer)
  }
  return pointer as SelectablePointer
}

/** The members of a pointer that ranking uses if the pointer belongs to another manager. */
export function selectable(pointer: SelectablePointer): unknown {
  const { filepath, toolName, toolDescription, args, queryId, taskId, timestamp } = pointer
  return {
    filepath: filepath.toWellFormed(),
    toolName: text(toolName),
    toolDescription: text(toolDescription),
    args: typeof args === 'object' ? args : null,
    queryId: typeof queryId === 'string' ? JSON.stringify(queryId.toWellFormed()) : null,
    taskId: typeof taskId === 'string' || Number.isFinite(taskId) ? JSON.stringify(taskId) : null,
    timestamp: Number.isFinite(timestamp) ? Math.max(0, Math.trunc(timestamp as number)) : 0,
  }
}

function text(value: unknown): string {
  return typeof value === 'string' ? value.toWellFormed() : ''
}
