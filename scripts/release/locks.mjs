// What lock files and audits must say.

/** The crates of a Cargo.lock that come from elsewhere than the registry, or have no checksum. Our own have no source. */
export function unlockedCrates(text) {
  return text
    .split(/^\[\[package\]\]$/m)
    .slice(1)
    .map((entry) =>
      Object.fromEntries(
        [...entry.matchAll(/^(name|version|source|checksum) = "(.*)"$/gm)].map(([, name, value]) => [name, value]),
      ),
    )
    .filter(
      ({ source, checksum }) =>
        source !== undefined && (!source.startsWith('registry+') || !/^[0-9a-f]{64}$/.test(checksum ?? '')),
    )
    .map(({ name, version, source }) => `Cargo.lock: ${name} ${version} comes from ${source}, or has no checksum`)
}

/** The packages of an npm lock file that have no SHA-512, or come from elsewhere than a registry; npm may leave the address out. */
export function unlockedPackages({ packages }) {
  return Object.entries(packages)
    .filter(([path]) => path !== '')
    .filter(
      ([, { integrity, resolved, link }]) =>
        link === true || !/^sha512-/.test(integrity ?? '') || !/^https?:.*\.tgz$/.test(resolved ?? 'https:.tgz'),
    )
    .map(([path, { version }]) => `npm: ${path} ${version} has no integrity, or does not come from a registry`)
}

/** What `npm audit --json` reported; `isKnown` is false when the registry was not reached. */
export function auditOutcome(json) {
  const report = parsed(json)
  if (report?.vulnerabilities === undefined || report.error !== undefined) {
    return { isKnown: false, advisories: [] }
  }
  const advisories = Object.values(report.vulnerabilities).map(
    ({ name, severity, via }) =>
      `npm audit: ${name} (${severity}): ${via.map((cause) => cause.title ?? cause).join('; ')}`,
  )
  return { isKnown: true, advisories }
}

function parsed(json) {
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}
