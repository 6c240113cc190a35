/**
 * The native addon, as Node.js and Deno load it: `#addon` of package.json outside of Bun. The loader is resolved at run time, so
 * that bundlers include neither it nor the binaries.
 */

import * as modules from 'node:module'

const addon = load()

export const {
  answerCall,
  contentOfCall,
  delimit,
  directoryFault,
  environmentVersion,
  harmlessLine,
  migrateRepoMemory,
  NativeCopier,
  NativeDatabase,
  NativeHistory,
  NativeHistoryTail,
  NativeEmbedded,
  NativeManager,
  NativeRedactionStream,
  NativeRedactor,
  NativeRepoMemory,
  NativeState,
  NativeStore,
  NativeStream,
  NativeVectors,
  newScope,
  newUuid,
  nextText,
  Outbox,
  repoIdentity,
  sha256,
  takeMessages,
} = addon

function load(): typeof import('#addon') {
  let require: NodeJS.Require
  try {
    // A CommonJS bundle has no `import.meta.url`. Tools that collect a program's files look for literal names such as this one.
    require = modules.createRequire(import.meta.url)
    require.resolve('../native.cjs')
  } catch (cause) {
    const error = new Error(
      'agent-context cannot find its native addon, because a bundler copied its code out of the package. ' +
        'Mark the package as external (esbuild: --external:agent-context; webpack, Rollup and Vite: external or externals; ' +
        "Next.js: serverExternalPackages: ['agent-context']), and install it where the bundle runs.",
      { cause },
    )
    throw Object.assign(error, { code: 'ERR_CONTEXT_ADDON' })
  }
  return require('../native.cjs')
}
