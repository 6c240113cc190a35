/**
 * The native addon, as Node.js and Deno load it: `#addon` of package.json outside of Bun. Its loader is read at run time, so
 * that bundlers leave it and the binaries alone.
 */

import { createRequire } from 'node:module'

const LOADER = '../native.cjs'

const addon = load(import.meta.url)

export const {
  delimit,
  directoryFault,
  harmlessLine,
  migrateRepoMemory,
  NativeHistory,
  NativeManager,
  NativeRedactor,
  NativeRepoMemory,
  NativeStore,
  newScope,
  Outbox,
  repoIdentity,
  sha256,
} = addon

/** @param url this module's, or the bundle's; `undefined` in a bundle of CommonJS */
function load(url: string | undefined): typeof import('#addon') {
  let loader: string
  let require: NodeJS.Require
  try {
    require = createRequire(url as string)
    loader = require.resolve(LOADER)
  } catch (cause) {
    throw new Error(
      `agent-context cannot find its native addon${url === undefined ? '' : ` from ${url}`}, because a bundler copied its code out of the package. ` +
        'Mark the package as external (esbuild: --external:agent-context; webpack, Rollup and Vite: external or externals; ' +
        "Next.js: serverExternalPackages: ['agent-context']), and install it where the bundle runs.",
      { cause },
    )
  }
  return require(loader)
}
