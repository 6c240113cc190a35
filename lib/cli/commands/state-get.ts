/** `state get`: the value of an item. */

import { EXIT, type Invocation } from '../command-types.ts'
import { CliError } from '../failures.ts'
import { visible, visibleLine } from '../output/visible-text.ts'
import { openState, placeText } from '../places.ts'
import { jsonItem, namespaceOf } from '../state-items.ts'

export async function run(invocation: Invocation): Promise<undefined> {
  const { options, output } = invocation
  const store = await openState(invocation)
  const [namespace, key] = [invocation.argument('namespace'), invocation.argument('key')]
  const item = await store.get(namespaceOf(namespace), key)
  if (item === undefined) {
    throw new CliError(
      `there is no '${visibleLine(key)}' in ${visibleLine(namespace)} of ${placeText(store.path, invocation)}`,
      EXIT.notFound,
    )
  }
  const { value } = item
  await output.document(jsonItem(item), () => {
    if (options.raw === true && (value instanceof Uint8Array || typeof value === 'string')) {
      return output.bytes(Buffer.from(value as Uint8Array))
    }
    return output.line(
      value instanceof Uint8Array
        ? Buffer.from(value).toString('base64')
        : visible(JSON.stringify(value, undefined, 2)),
    )
  })
}
