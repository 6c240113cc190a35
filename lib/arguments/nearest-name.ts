/** Finds the known name that a misspelt one most likely means. */

/** The share of a name's characters that may differ. */
const TOLERANCE = 1 / 3

/** Returns the most similar known name, ignoring case, `_` and `-`; `undefined` if none is similar enough. */
export function nearestName(given: string, known: readonly string[]): string | undefined {
  const wanted = normalise(given)
  let nearest: string | undefined
  let least = Number.POSITIVE_INFINITY
  for (const name of known) {
    const other = normalise(name)
    const length = Math.max(wanted.length, other.length)
    const allowed = Math.max(1, Math.floor(length * TOLERANCE))
    // Skips names whose length differs too much: the edit distance is at least the difference of the lengths.
    if (Math.abs(wanted.length - other.length) <= allowed) {
      const distance = editDistance(wanted, other)
      if (distance <= allowed && distance < length && distance < least) {
        nearest = name
        least = distance
      }
    }
  }
  return nearest
}

function normalise(name: string): string {
  return name.toLowerCase().replace(/[_-]/g, '')
}

/** The edit distance: the number of insertions, removals, replacements and swaps of adjacent characters. */
function editDistance(one: string, other: string): number {
  let before: number[] = []
  let previous: number[] = []
  let row = Array.from({ length: other.length + 1 }, (_, column) => column)
  for (let line = 1; line <= one.length; line++) {
    ;[before, previous, row] = [previous, row, [line]]
    for (let column = 1; column <= other.length; column++) {
      const isSame = one[line - 1] === other[column - 1]
      const isSwap = one[line - 1] === other[column - 2] && one[line - 2] === other[column - 1]
      row[column] = Math.min(
        at(previous, column) + 1,
        at(row, column - 1) + 1,
        at(previous, column - 1) + (isSame ? 0 : 1),
        isSwap ? at(before, column - 2) + 1 : Number.POSITIVE_INFINITY,
      )
    }
  }
  return at(row, other.length)
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY
}
