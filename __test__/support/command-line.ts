/** Runs the program `agent-context` in processes of its own, and the schemas that its guide documents. */

import { spawn } from 'node:child_process'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Ended, runtimeParameters } from './processes.ts'

export const PROGRAM = fileURLToPath(new URL('../../dist/cli/agent-context.js', import.meta.url))
const GUIDE = fileURLToPath(new URL('../../docs/guides/cli.md', import.meta.url))

const DENO_CACHE = join(tmpdir(), 'agent-context-test-deno')

export interface Places {
  readonly dir: string
  readonly history: string
  readonly store: string
  readonly state: string
  readonly memory: string
  readonly workspace: string
}

export const placesIn = (directory: string): Places => ({
  dir: join(directory, 'context'),
  history: join(directory, 'history', 'context.jsonl'),
  store: join(directory, 'store'),
  state: join(directory, 'state.db'),
  memory: join(directory, 'memory'),
  workspace: directory,
})

export interface RunOptions {
  readonly input?: string | Uint8Array
  readonly environment?: Readonly<Record<string, string | undefined>>
  readonly folder?: string
}

/** The environment of a child: places in a directory of the test, no terminal settings of the tester. */
export function environmentIn(directory: string, more: RunOptions['environment'] = {}): NodeJS.ProcessEnv {
  const places = placesIn(directory)
  return {
    PATH: process.env['PATH'],
    HOME: directory,
    // Bun and Deno would put caches of what they compiled into the home directory.
    BUN_RUNTIME_TRANSPILER_CACHE_PATH: '0',
    DENO_DIR: DENO_CACHE,
    AGENT_CONTEXT_DIR: places.dir,
    AGENT_CONTEXT_HISTORY: places.history,
    SFA_CONTEXT_STORE: places.store,
    AGENT_CONTEXT_STATE: places.state,
    AGENT_CONTEXT_MEMORY: places.memory,
    AGENT_CONTEXT_WORKSPACE: places.workspace,
    AGENT_CONTEXT_AGENT: 'tester',
    ...more,
  }
}

/** Runs the program to its end. */
export function agentContext(directory: string, words: readonly string[], options: RunOptions = {}): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [...runtimeParameters(process.execPath), PROGRAM, ...words], {
      cwd: options.folder ?? directory,
      env: environmentIn(directory, options.environment),
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    const stdout: Buffer[] = []
    let stderr = ''
    child.stdout.on('data', (chunk: Buffer) => stdout.push(chunk))
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text
    })
    child.on('error', reject)
    child.on('close', (code, signal) => {
      resolve({ code, signal, stdout: Buffer.concat(stdout).toString('utf8'), stderr })
    })
    child.stdin.on('error', () => {}) // it may have ended
    child.stdin.end(options.input ?? '')
  })
}

/** Runs it, and throws unless it ends with 0. */
export async function agentContextOk(
  directory: string,
  words: readonly string[],
  options?: RunOptions,
): Promise<string> {
  const { code, stdout, stderr } = await agentContext(directory, words, options)
  if (code !== 0) {
    throw new Error(`agent-context ${words.join(' ')} ended with ${code}:\n${stdout}\n${stderr}`)
  }
  return stdout
}

/** What `--json` prints. */
export async function agentContextJson<T>(
  directory: string,
  words: readonly string[],
  options?: RunOptions,
): Promise<T> {
  return JSON.parse(await agentContextOk(directory, [...words, '--json'], options)) as T
}

/** Every file below a directory, with its text. */
export function contentsOf(directory: string): Record<string, string> {
  const contents: Record<string, string> = {}
  for (const name of readdirSync(directory, { recursive: true, encoding: 'utf8' }).sort()) {
    const path = join(directory, name)
    contents[name] = statSync(path).isFile() ? readFileSync(path, 'utf8') : ''
  }
  return contents
}

interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly required?: readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: boolean
  readonly items?: Schema
}

/** The schemas of the guide, by the names behind `json schema`. */
export function documentedSchemas(): ReadonlyMap<string, Schema> {
  const schemas = new Map<string, Schema>()
  for (const [, names = '', text = ''] of readFileSync(GUIDE, 'utf8').matchAll(
    /^```json schema ([^\n]+)\n(.*?)^```/gms,
  )) {
    for (const name of names.split(', ')) {
      schemas.set(name, JSON.parse(text) as Schema)
    }
  }
  return schemas
}

/** What is wrong with a value, with the place of each problem; empty when it is valid. */
export function schemaProblems(
  value: unknown,
  name: string,
  schemas: ReadonlyMap<string, Schema> = documentedSchemas(),
): string[] {
  const check = (part: unknown, schema: Schema, place: string): string[] => {
    if (schema.$ref !== undefined) {
      const referred = schemas.get(schema.$ref)
      return referred === undefined ? [`${place}: no schema ${schema.$ref}`] : check(part, referred, place)
    }
    if (schema.enum !== undefined && !schema.enum.includes(part)) {
      return [`${place}: ${JSON.stringify(part)} is none of ${schema.enum.join(', ')}`]
    }
    const types = typeof schema.type === 'string' ? [schema.type] : (schema.type ?? [])
    const type = part === null ? 'null' : Array.isArray(part) ? 'array' : typeof part
    if (types.length > 0 && !types.includes(type)) {
      return [`${place}: ${type} in place of ${types.join(' or ')}`]
    }
    if (Array.isArray(part)) {
      const { items } = schema
      return items === undefined ? [] : part.flatMap((item, index) => check(item, items, `${place}[${index}]`))
    }
    if (typeof part !== 'object' || part === null) {
      return []
    }
    const members = part as Readonly<Record<string, unknown>>
    const missing = (schema.required ?? []).filter((key) => !(key in members)).map((key) => `${place}: no ${key}`)
    const unknown = Object.keys(members)
      .filter((key) => schema.additionalProperties === false && !(key in (schema.properties ?? {})))
      .map((key) => `${place}: unknown member ${key}`)
    const wrong = Object.entries(schema.properties ?? {}).flatMap(([key, inner]) =>
      key in members ? check(members[key], inner, `${place}.${key}`) : [],
    )
    return [...missing, ...unknown, ...wrong]
  }
  const schema = schemas.get(name)
  return schema === undefined ? [`there is no schema '${name}'`] : check(value, schema, name)
}
