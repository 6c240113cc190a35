/** `state delete`: removes an item. */

import { EXIT, type Invocation } from '../command-types.ts'
import { CliError } from '../failures.ts'
import { confirm } from '../output/confirm.ts'
import { visibleLine } from '../output/visible-text.ts'
import { openState, placeText } from '../places.ts'
import { namespaceOf } from '../state-items.ts'

export async function run(invocation: Invocation): Promise<undefined> {
  const { options, output } = invocation
  const store = await openState(invocation)
  const typed = invocation.argument('namespace')
  const [namespace, key] = [namespaceOf(typed), invocation.argument('key')]
  const name = `'${visibleLine(key)}' in ${visibleLine(typed)}`
  const item = await store.get(namespace, key)
  if (item === undefined) {
    throw new CliError(`there is no ${name} of ${placeText(store.path, invocation)}`, EXIT.notFound)
  }
  const isDryRun = options.dryRun === true
  if (!isDryRun) {
    await confirm(invocation, `Remove ${name}?`)
    await store.delete(namespace, key, options.ifRevision === undefined ? {} : { ifRevision: options.ifRevision })
    await store.close()
  }
  await output.document({ removed: [{ namespace, key, revision: item.revision }], dryRun: isDryRun }, () =>
    output.line(`${isDryRun ? 'Would remove' : 'Removed'} ${name}`),
  )
}
