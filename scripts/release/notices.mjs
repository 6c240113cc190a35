// THIRD-PARTY-NOTICES and the bill of materials (CycloneDX) of what is published.
import { createHash } from 'node:crypto'

const RULE = '-'.repeat(80)

/** One text for all components; those under the same text share it. */
export function noticesOf(title, components) {
  const byTexts = new Map()
  for (const component of components) {
    const text = component.texts.join('\n\n')
    byTexts.set(text, [...(byTexts.get(text) ?? []), component])
  }
  const sections = [...byTexts].map(([text, users]) => {
    const names = users.map(({ name, version, licence }) => `${name} ${version} (${licence})`)
    return `${RULE}\n${names.join('\n')}\n${RULE}\n\n${text}\n`
  })
  return `${title}\n\n${sections.join('\n')}`
}

/** A CycloneDX 1.6 document. It names no time and no machine: the same sources give the same bytes. */
export function billOf(manifest, components) {
  const reference = `pkg:npm/${manifest.name}@${manifest.version}`
  const parts = components.map(({ ecosystem, name, version, licence }) => {
    const purl =
      ecosystem === 'generic'
        ? undefined
        : `pkg:${ecosystem}/${name.replace(/^@/, '%40')}@${version.replace('+', '%2B')}`
    return {
      'bom-ref': purl ?? `generic:${name}`,
      type: 'library',
      name,
      version,
      licenses: [licensed(licence)],
      ...(purl === undefined ? {} : { purl }),
    }
  })
  const bill = {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: {
      component: {
        'bom-ref': reference,
        type: 'library',
        name: manifest.name,
        version: manifest.version,
        licenses: [licensed(manifest.license)],
        purl: reference,
      },
    },
    components: parts,
    dependencies: [{ ref: reference, dependsOn: parts.map((part) => part['bom-ref']) }],
  }
  return `${JSON.stringify({ ...bill, serialNumber: serialNumber(JSON.stringify(bill)) }, null, 2)}\n`
}

/** An SPDX expression or a single identifier; old manifests of crates have a slash for OR. */
function licensed(licence) {
  const expression = licence.replaceAll('/', ' OR ')
  return /\s/.test(expression) ? { expression } : { license: { id: expression } }
}

/** A UUID that is made of the contents. */
function serialNumber(text) {
  const hex = createHash('sha256').update(text).digest('hex')
  return `urn:uuid:${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}
