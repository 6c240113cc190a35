/** `map`: the files of a repository that matter most, and what they define. */

import type { Invocation } from '../command-types.ts'
import { startProgress } from '../output/progress.ts'
import { counted } from '../output/units.ts'
import { visible } from '../output/visible-text.ts'
import { openMemory } from '../places.ts'

export async function run(invocation: Invocation): Promise<undefined> {
  const { options, output, signal } = invocation
  const memory = await openMemory(invocation)
  const progress = startProgress(output.mode === 'text')
  try {
    const map = await memory.repoMap({
      maxChars: options.maxChars,
      focus: options.focus,
      signal,
      onProgress: ({ done, total }) => progress.update(`${done} of ${counted(total, 'file')}`),
    })
    progress.done()
    await output.document(map, () =>
      map.text === ''
        ? Promise.resolve(output.note('There are no source files that the map understands.'))
        : output.line(visible(map.text.trimEnd())),
    )
  } finally {
    progress.done()
  }
}
