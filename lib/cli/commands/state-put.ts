/** `state put`: writes an item. */

import type { StateValue } from '../../index.ts'
import { EXIT, type Invocation } from '../command-types.ts'
import { CliError } from '../failures.ts'
import { readInput } from '../input.ts'
import { openState } from '../places.ts'
import { jsonItem, namespaceOf } from '../state-items.ts'

export async function run(invocation: Invocation): Promise<undefined> {
  const { options, output } = invocation
  const namespace = namespaceOf(invocation.argument('namespace'))
  const value = await readValue(invocation)
  const store = await openState(invocation)
  const item = await store.put(namespace, invocation.argument('key'), value, {
    ttl: options.ttl,
    ...(options.ifRevision === undefined ? {} : { ifRevision: options.ifRevision }),
  })
  await store.close()
  await output.document(jsonItem(item), () => output.line(item.revision))
}

async function readValue({ options }: Invocation): Promise<StateValue> {
  if (options.raw === true) {
    if (options.content !== undefined) {
      throw new CliError('--raw takes standard input, not --content', EXIT.usage)
    }
    return readInput()
  }
  const text = options.content ?? new TextDecoder('utf-8').decode(await readInput())
  try {
    return JSON.parse(text) as StateValue
  } catch (error) {
    throw new CliError(
      `the value is no JSON (${(error as Error).message}): put a string in quotes, or store standard input with --raw`,
      EXIT.usage,
    )
  }
}
