/** What callers pass to be ranked: pointers, which need not be of the manager that ranks them. */

import type { SelectablePointer } from '../types.d.ts'
import { invalidArgument } from './errors.ts'

export function checkPointer(pointer: unknown, index: number): SelectablePointer {
  if (typeof (pointer as SelectablePointer | null | undefined)?.filepath !== 'string') {
    throw invalidArgument(`availablePointers[${index}]`, 'a pointer with a filepath', pointer)
  }
  return pointer as SelectablePointer
}

/** What ranking needs of a pointer that may not be this manager's. */
export function selectable(pointer: SelectablePointer): unknown {
  const { filepath, toolName, toolDescription, args, timestamp } = pointer
  return {
    filepath: filepath.toWellFormed(),
    toolName: text(toolName),
    toolDescription: text(toolDescription),
    args: typeof args === 'object' ? args : null,
    timestamp: Number.isFinite(timestamp) ? Math.max(0, Math.trunc(timestamp as number)) : 0,
  }
}

function text(value: unknown): string {
  return typeof value === 'string' ? value.toWellFormed() : ''
}
