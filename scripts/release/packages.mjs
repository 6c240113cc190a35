// What a release publishes: the manifests of the main package and of one package for each platform.

/** npm's names for the parts of Rust's targets. */
const PROCESSORS = { x86_64: 'x64', aarch64: 'arm64' }
const SYSTEMS = {
  'unknown-linux-gnu': { os: 'linux', library: 'gnu', libc: 'glibc', title: 'Linux with glibc' },
  'unknown-linux-musl': { os: 'linux', library: 'musl', libc: 'musl', title: 'Linux with musl' },
  'apple-darwin': { os: 'darwin', title: 'macOS' },
  'pc-windows-msvc': { os: 'win32', library: 'msvc', title: 'Windows' },
}
/** Members of package.json that concern a clone only. */
const OF_CLONES = ['scripts', 'devDependencies', 'napi']

/**
 * The platforms of a manifest's `napi.targets`.
 *
 * @returns {{ target: string, name: string, platform: string, addon: string, os: string, cpu: string, libc?: string, title: string }[]}
 */
export function platformsOf(manifest) {
  return manifest.napi.targets.map((target) => {
    const [, architecture = '', system = ''] = /^([^-]+)-(.+)$/.exec(target) ?? []
    const cpu = PROCESSORS[architecture]
    const known = SYSTEMS[system]
    if (cpu === undefined || known === undefined) {
      throw new Error(
        `package.json names the target ${target}, for which scripts/release/packages.mjs has no platform.`,
      )
    }
    const { os, library, libc, title } = known
    const platform = [os, cpu, library].filter((part) => part !== undefined).join('-')
    return {
      target,
      name: `${manifest.name}-${platform}`,
      platform,
      addon: `${manifest.napi.binaryName}.${platform}.node`,
      os,
      cpu,
      ...(libc === undefined ? {} : { libc }),
      title: `${title} on ${cpu}`,
    }
  })
}

/** The published manifest of the main package: every platform is an optional dependency of exactly this version. */
export function publishedManifest(manifest) {
  const published = Object.fromEntries(Object.entries(manifest).filter(([name]) => !OF_CLONES.includes(name)))
  return {
    ...published,
    files: manifest.files.filter((name) => !name.endsWith('.node')).concat('THIRD-PARTY-NOTICES'),
    optionalDependencies: Object.fromEntries(platformsOf(manifest).map(({ name }) => [name, manifest.version])),
  }
}

/** A platform package's manifest: package managers install it where `os`, `cpu` and `libc` fit. */
export function platformManifest(manifest, { name, addon, os, cpu, libc, title }) {
  const { version, license, engines, repository, homepage, bugs, publishConfig } = manifest
  return {
    name,
    version,
    description: `The addon of ${manifest.name} for ${title}`,
    license,
    repository,
    homepage,
    bugs,
    engines,
    os: [os],
    cpu: [cpu],
    ...(libc === undefined ? {} : { libc: [libc] }),
    main: addon,
    files: [addon, 'THIRD-PARTY-NOTICES'],
    publishConfig,
  }
}

/** What the registry shows for a platform package. */
export function platformReadme(manifest, { name, title }) {
  return `# ${name}\n\nThe native addon of [${manifest.name}](${manifest.homepage}) for ${title}. It is installed with that package.\n`
}

/** The platform whose addon this machine loads; the runtime's own names are in `targetOf()` of lib/native/addon-error.ts. */
export function platformNamed(manifest, platform) {
  const found = platformsOf(manifest).find((candidate) => candidate.platform === platform)
  if (found === undefined) {
    throw new Error(`There is no package for ${platform}: package.json names its targets in napi.targets.`)
  }
  return found
}
