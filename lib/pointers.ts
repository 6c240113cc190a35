/** Pointers on their way out, and how one is known again. */

import type { ContextPointer, TaskId } from '../types.d.ts'

/** A constructor that gives back what it is given, so that a subclass adds its private fields to it. */
class Given {
  constructor(object: object) {
    // biome-ignore lint/correctness/noConstructorReturn: the point of this class
    return object
  }
}

/**
 * Marks a pointer as this manager's, invisibly: private fields are no properties, are not copied by a spread and leave the
 * pointer a plain object. A copy is known by its path instead, which takes longer.
 */
class Mark extends Given {
  #manager: object
  #sequence: number

  private constructor(pointer: object, manager: object, sequence: number) {
    super(pointer)
    this.#manager = manager
    this.#sequence = sequence
  }

  static put(pointer: object, manager: object, sequence: number): void {
    new Mark(pointer, manager, sequence)
  }

  static read(pointer: object, manager: object): number {
    return #manager in pointer && pointer.#manager === manager ? pointer.#sequence : -1
  }
}

/** The pointers of a JSON array, marked with the numbers of their calls. */
export function readPointers<Task extends TaskId>(
  text: string,
  sequences: Float64Array,
  manager: object,
): ContextPointer<Task>[] {
  const pointers = JSON.parse(text) as ContextPointer<Task>[]
  for (let index = 0; index < pointers.length; index++) {
    Mark.put(pointers[index] as object, manager, sequences[index] as number)
  }
  return pointers
}

/** The number of the call behind a pointer of this manager, -1 for any other. */
export function sequenceOf(pointer: object, manager: object): number {
  return Mark.read(pointer, manager)
}
