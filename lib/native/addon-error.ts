/**
 * Determines which addon a platform needs, and builds the error with the remedy if it cannot be loaded. Built as
 * `dist/addon-error.cjs`, for `native.cjs`, which every runtime loads.
 */

import * as fs from 'node:fs'

const CODE = 'ERR_CONTEXT_ADDON'
/** The platforms that have a package, as in the names of the packages. */
export const TARGETS = [
  'linux-x64-gnu',
  'linux-arm64-gnu',
  'linux-x64-musl',
  'linux-arm64-musl',
  'darwin-x64',
  'darwin-arm64',
  'win32-x64-msvc',
  'win32-arm64-msvc',
] as const

/** A thrown value, which need not be an `Error`. */
interface Failure {
  readonly code?: unknown
  readonly name?: unknown
  readonly message?: unknown
}

/** Throws on a Node.js that cannot `require()` the package. Bun and Deno report the version of Node.js that they imitate. */
export function checkNode(): void {
  const { node = '', bun, deno } = process.versions as Record<string, string | undefined>
  if (bun !== undefined || deno !== undefined) {
    return
  }
  const [major = 0, minor = 0] = node.split('.').map(Number)
  const isSupported = (major === 20 && minor >= 19) || (major === 22 && minor >= 12) || major > 22
  if (!isSupported) {
    throw failure(
      `agent-context needs Node.js 20.19, 22.12 or newer, and this is ${node}. Run it with a newer Node.js, Bun or Deno.`,
    )
  }
}

/** The name of the addon for this process, such as `linux-x64-gnu`; also for platforms that have none. */
export function targetOf(): string {
  const { platform, arch } = process
  if (platform === 'linux') {
    return `linux-${arch}-${isMusl() ? 'musl' : 'gnu'}`
  }
  return platform === 'win32' ? `win32-${arch}-msvc` : `${platform}-${arch}`
}

/** Whether the C library of a Linux process is musl. No program is run to find out. */
function isMusl(): boolean {
  try {
    return fs.readFileSync('/usr/bin/ldd', 'utf8').includes('musl')
  } catch {
    // Images without a shell have no ldd.
  }
  return loadedLibraries().some((name) => /libc\.musl-|ld-musl-/.test(name))
}

function loadedLibraries(): readonly string[] {
  const report = process.report as (NodeJS.ProcessReport & { excludeNetwork?: boolean }) | undefined
  if (typeof report?.getReport !== 'function') {
    return []
  }
  const { excludeNetwork = false } = report
  try {
    report.excludeNetwork = true // names of hosts are not looked up
    return (report.getReport() as { sharedObjects?: string[] }).sharedObjects ?? []
  } finally {
    report.excludeNetwork = excludeNetwork
  }
}

/**
 * The error for an addon that could not be loaded.
 *
 * @param target the name from `targetOf()`
 * @param failures what the attempts to load it threw
 * @param resolve `require.resolve` of the package's root
 */
export function addonError(target: string, failures: readonly unknown[], resolve: (name: string) => string): Error {
  const unloadable = failures.find((error) => !isMissing(error)) as Failure | undefined
  if (unloadable !== undefined) {
    return failure(
      `agent-context cannot load its addon for ${target}: ${sentenceOf(unloadable)} ${remedyOf(unloadable, target)}`,
      unloadable,
    )
  }
  if (!TARGETS.some((known) => known === target)) {
    return failure(
      `agent-context has no addon for ${target}. There is one for Linux (glibc and musl), macOS and Windows, each on x64 and ` +
        'arm64. On other platforms, build it from a clone of the repository with a Rust toolchain.',
    )
  }
  return failure(
    `agent-context cannot find its addon: the package agent-context-${target} is not installed. ${reinstall(target, resolve)}`,
    failures[0],
  )
}

/** The likely reason why the platform's package is missing, judged by the installed packages, and how to install it. */
function reinstall(target: string, resolve: (name: string) => string): string {
  const [system = '', processor = ''] = target.split('-')
  const others = TARGETS.filter((other) => isInstalled(other, resolve))
  const otherLibrary = others.find((other) => system === 'linux' && other.startsWith(`${system}-${processor}-`))
  if (otherLibrary !== undefined) {
    return (
      `agent-context-${otherLibrary} is, which is for ${libraryOf(otherLibrary)}, but this system has ${libraryOf(target)}: ` +
      'node_modules was installed on, or copied from, another distribution (Alpine has musl, Debian has glibc). Install in ' +
      `the image where the program runs, or with npm install --libc=${libraryOf(target)}.`
    )
  }
  if (others.length > 0) {
    return (
      `agent-context-${others[0]} is: node_modules was installed on, or copied from, another platform. Remove node_modules ` +
      `and install on this one, or with npm install --os=${system} --cpu=${processor}.`
    )
  }
  return (
    'Optional dependencies were left out (--omit=optional, --no-optional, "omit" in .npmrc), or a lock file was written ' +
    'where the package did not fit. Install with npm install --include=optional; if that changes nothing, remove ' +
    'node_modules and the lock file first.'
  )
}

function remedyOf({ code, name, message }: Failure, target: string): string {
  const text = String(message)
  if (code === 'ERR_DLOPEN_DISABLED') {
    return 'Start Node.js with --allow-addons beside --permission, and without --no-addons.'
  }
  if (name === 'NotCapable' || name === 'PermissionDenied') {
    return 'Start Deno with --allow-ffi --allow-read --allow-env.'
  }
  if (/GLIBC(?:XX)?_[\d.]+'? not found/.test(text)) {
    return (
      'The C library of this system is older than the addon needs. Use a newer distribution, or build the addon from a ' +
      'clone of the repository.'
    )
  }
  if (target.startsWith('linux-') && /libc\.musl|ld-musl|ld-linux|libc\.so|Error relocating/.test(text)) {
    return (
      `The addon was built for another C library, and this system has ${libraryOf(target)}. Remove node_modules, and ` +
      'install in the image where the program runs.'
    )
  }
  return 'The file may be incomplete, or of another platform. Remove node_modules, and install again.'
}

function isInstalled(target: string, resolve: (name: string) => string): boolean {
  return [`./agent-context.${target}.node`, `agent-context-${target}/package.json`].some((name) => {
    try {
      resolve(name)
      return true
    } catch {
      return false
    }
  })
}

function isMissing(error: unknown): boolean {
  return /MODULE_NOT_FOUND$/.test(String((error as Failure | null | undefined)?.code))
}

/** The first line of a message: Node.js appends a list of modules. */
function sentenceOf({ message }: Failure): string {
  const [line = ''] = String(message).split('\n')
  return /[.!?]$/.test(line) ? line : `${line}.`
}

function libraryOf(target: string): string {
  return target.endsWith('-musl') ? 'musl' : 'glibc'
}

function failure(message: string, cause?: unknown): Error {
  return Object.assign(new Error(message, cause === undefined ? undefined : { cause }), { code: CODE })
}
