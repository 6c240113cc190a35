// An application of a user: the quickstart in every form in which the package can be imported.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'

/** What each program prints. */
export const EXPECTED = JSON.stringify({
  relevant: ['read_file'],
  result: { lines: ['export function login() {}'] },
  tools: 3,
  last: 'read_file',
})

const BODY = `
async function quickstart() {
  const directory = mkdtempSync(join(tmpdir(), 'quickstart-'))
  const manager = new ContextManager({ contextDir: join(directory, 'contexts') })
  await manager.saveContext('read_file', { path: 'src/login.ts' }, { lines: ['export function login() {}'] })
  await manager.saveContext('weather', { city: 'Bern' }, { degrees: 7 })
  const relevant = await manager.selectContexts('where is the login in src/login.ts', { limit: 1 })
  const [context] = await manager.loadContexts(relevant.map((pointer) => pointer.filepath))
  const history = new ContextHistory({ path: join(directory, 'context.jsonl') })
  await history.append({ toolName: 'read_file', params: {}, result: null, success: true })
  const [last] = await history.read(1)
  console.log(
    JSON.stringify({
      relevant: relevant.map((pointer) => pointer.toolName),
      result: context?.result,
      tools: contextTools(manager).length,
      last: last?.toolName,
    }),
  )
  await manager.clear()
  await manager.close()
  await history.close()
  rmSync(directory, { recursive: true, force: true })
}
quickstart().catch((error) => {
  console.error(error)
  process.exit(1)
})
`
const IMPORTS = `import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ContextHistory, ContextManager } from 'agent-context'
import { contextTools } from 'agent-context/tools'
`
const REQUIRES = `const { mkdtempSync, rmSync } = require('node:fs')
const { tmpdir } = require('node:os')
const { join } = require('node:path')
const { ContextHistory, ContextManager } = require('agent-context')
const { contextTools } = require('agent-context/tools')
`
/** The compiler's settings for each kind of application; `node16` is CommonJS here, by the name of the file. */
const COMPILED = {
  'nodenext.mts': { module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext },
  'bundler.mts': { module: ts.ModuleKind.ESNext, moduleResolution: ts.ModuleResolutionKind.Bundler },
  'node16.cts': { module: ts.ModuleKind.Node16, moduleResolution: ts.ModuleResolutionKind.Node16 },
}

/** Writes the sources of the application. Returns the names of the programs that need no compiler. */
export function writeConsumer(folder) {
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), '{ "private": true }\n')
  writeFileSync(join(folder, 'esm.mjs'), IMPORTS + BODY)
  writeFileSync(join(folder, 'cjs.cjs'), REQUIRES + BODY)
  for (const name of Object.keys(COMPILED)) {
    writeFileSync(join(folder, name), IMPORTS + BODY)
  }
  return ['esm.mjs', 'cjs.cjs']
}

/**
 * Compiles the programs in TypeScript, in the folder where the package is installed. Throws what the compiler reports: the
 * declarations of the package are checked as well.
 *
 * @returns {string[]} the names of the compiled programs
 */
export function compileConsumer(folder, typeRoots) {
  return Object.entries(COMPILED).map(([name, options]) => {
    const program = ts.createProgram([join(folder, name)], {
      ...options,
      strict: true,
      skipLibCheck: false,
      target: ts.ScriptTarget.ES2022,
      typeRoots: [typeRoots],
      types: ['node'],
    })
    const { diagnostics } = program.emit()
    const problems = [...ts.getPreEmitDiagnostics(program), ...diagnostics].map(
      ({ file, messageText }) => `${file?.fileName ?? name}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`,
    )
    if (problems.length > 0) {
      throw new Error(`${name} does not compile:\n${problems.join('\n')}`)
    }
    return name.replace(/ts$/, 'js')
  })
}
