// The npm packages that are bundled into `dist/`: their licences are published with them.

/** By the folder of `dist/`. */
export const BUNDLED = {
  cli: ['commander', 'jsonc-parser'],
  mcp: ['@modelcontextprotocol/server', '@modelcontextprotocol/core', 'zod'],
}

/**
 * Throws when a bundle holds a package that is not in the list, or the list one that the bundle does not hold.
 *
 * @param {keyof typeof BUNDLED} folder
 * @param {readonly string[]} inputs the paths of esbuild's metafile
 */
export function checkBundled(folder, inputs) {
  const found = new Set(
    inputs
      .map((path) => /^(?:.*\/)?node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1])
      .filter((name) => name !== undefined),
  )
  const unlisted = [...found].filter((name) => !BUNDLED[folder].includes(name))
  const missing = BUNDLED[folder].filter((name) => !found.has(name))
  if (unlisted.length > 0 || missing.length > 0) {
    throw new Error(
      `dist/${folder} holds ${[...found].join(', ')}, but scripts/bundled-packages.mjs lists ${BUNDLED[folder].join(', ')}: ` +
        'correct the list, from which the notices of licences are made.',
    )
  }
}
