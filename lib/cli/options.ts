/** The vocabulary of options: a name means the same in every command that has it. */

/** How the text of an option becomes a value. */
export type OptionKind = 'flag' | 'text' | 'texts' | 'count' | 'limit' | 'range' | 'json' | 'choice'

export interface OptionRow {
  readonly flags: string
  readonly kind: OptionKind
  readonly description: string
  readonly choices?: readonly string[]
  /** What completions offer. */
  readonly completes?: 'directory' | 'file'
}

export const OPTIONS = {
  dir: {
    flags: '--dir <directory>',
    kind: 'text',
    description: 'directory of the stored outputs (AGENT_CONTEXT_DIR)',
    completes: 'directory',
  },
  history: {
    flags: '--history <file>',
    kind: 'text',
    description: 'file of the history (AGENT_CONTEXT_HISTORY)',
    completes: 'file',
  },
  store: {
    flags: '--store <directory>',
    kind: 'text',
    description: 'directory of the context store (SFA_CONTEXT_STORE)',
    completes: 'directory',
  },
  state: {
    flags: '--state <file>',
    kind: 'text',
    description: 'database of the state store (AGENT_CONTEXT_STATE)',
    completes: 'file',
  },
  storage: {
    flags: '--storage <url>',
    kind: 'text',
    description: 'a PostgreSQL database in place of files (AGENT_CONTEXT_STORAGE); places are then names in it',
  },
  blobs: {
    flags: '--blobs <url>',
    kind: 'text',
    description: 'a bucket for large outputs beside the database, such as s3://bucket/prefix (AGENT_CONTEXT_BLOBS)',
  },
  agent: { flags: '--agent <name>', kind: 'text', description: 'the agent that writes (AGENT_CONTEXT_AGENT)' },
  workspace: {
    flags: '--workspace <folder>',
    kind: 'text',
    description: 'a folder of the repository (AGENT_CONTEXT_WORKSPACE)',
    completes: 'directory',
  },
  memory: {
    flags: '--memory <directory>',
    kind: 'text',
    description: 'directory of all repository memories (AGENT_CONTEXT_MEMORY)',
    completes: 'directory',
  },
  branchScope: {
    flags: '--branch-scope <scope>',
    kind: 'choice',
    choices: ['perBranch', 'sharedRepo'],
    description: 'one memory for each branch, or one for the repository',
  },
  session: { flags: '--session <id>', kind: 'text', description: 'only this session' },
  tool: { flags: '--tool <name>', kind: 'texts', description: 'only this tool; can be repeated' },
  since: { flags: '--since <time>', kind: 'text', description: 'from then on: ISO 8601, or an age such as 2h or 7d' },
  until: { flags: '--until <time>', kind: 'text', description: 'until then: ISO 8601, or an age' },
  failed: { flags: '--failed', kind: 'flag', description: 'only failed calls' },
  limit: { flags: '-n, --limit <count>', kind: 'limit', description: 'at most so many, or "all"' },
  text: { flags: '--text <text>', kind: 'text', description: 'that contain this text, in upper or lower case' },
  query: { flags: '--query <words>', kind: 'text', description: 'what it is for: matching records come first' },
  ranked: { flags: '--ranked', kind: 'flag', description: 'best answers first; one of the words is enough' },
  explain: { flags: '--explain', kind: 'flag', description: 'say which terms of which field counted' },
  lines: { flags: '--lines <from:to>', kind: 'range', description: 'lines, both included, from 1' },
  bytes: { flags: '--bytes <from:to>', kind: 'range', description: 'bytes, from 0 up to the second one' },
  grep: { flags: '-e, --grep <pattern>', kind: 'text', description: 'lines that match a regular expression' },
  ignoreCase: { flags: '-i, --ignore-case', kind: 'flag', description: 'upper and lower case are the same' },
  context: { flags: '-C, --context <count>', kind: 'count', description: 'lines around each match' },
  before: { flags: '-B, --before <count>', kind: 'count', description: 'lines before each match' },
  after: { flags: '-A, --after <count>', kind: 'count', description: 'lines after each match' },
  jsonPath: { flags: '--json-path <path>', kind: 'text', description: 'what a JSON path (RFC 9535) finds' },
  maxBytes: { flags: '--max-bytes <count>', kind: 'count', description: 'at most so many bytes' },
  whole: { flags: '--whole', kind: 'flag', description: 'everything, however long' },
  raw: { flags: '--raw', kind: 'flag', description: 'the bytes as stored: control characters reach the terminal' },
  afterId: {
    flags: '--after-id <id>',
    kind: 'text',
    description: 'with --follow: what comes behind this entry, and nothing before',
  },
  savings: {
    flags: '--savings',
    kind: 'flag',
    description: 'what placeholders kept out of conversations, by the history',
  },
  follow: { flags: '-f, --follow', kind: 'flag', description: 'wait for further entries, until Ctrl+C' },
  keepLast: { flags: '--keep-last <count>', kind: 'count', description: 'keep the most recent so many' },
  maxAge: { flags: '--max-age <duration>', kind: 'text', description: 'keep what is younger: 12h, 30d' },
  maxFiles: { flags: '--max-files <count>', kind: 'count', description: 'keep at most so many' },
  keyPrefix: { flags: '--key-prefix <text>', kind: 'text', description: 'keys that begin so' },
  ttl: { flags: '--ttl <duration>', kind: 'text', description: 'expires after that: 30m, 12h, 7d' },
  cursor: { flags: '--cursor <cursor>', kind: 'text', description: 'go on from there' },
  olderThan: { flags: '--older-than <duration>', kind: 'text', description: 'remove what is older: 30d' },
  includeLinked: { flags: '--include-linked', kind: 'flag', description: 'also entries that others link to' },
  title: { flags: '--title <line>', kind: 'text', description: 'title of a convention' },
  rationale: { flags: '--rationale <text>', kind: 'text', description: 'why it was decided' },
  path: { flags: '--path <path>', kind: 'texts', description: 'a path that it is about; can be repeated' },
  source: {
    flags: '--source <source>',
    kind: 'choice',
    choices: ['manual', 'agent', 'tool'],
    description: 'who wrote the note',
  },
  id: { flags: '--id <id>', kind: 'text', description: 'change the record with this id' },
  content: { flags: '--content <text>', kind: 'text', description: 'the text; otherwise standard input or $EDITOR' },
  tag: { flags: '--tag <tag>', kind: 'texts', description: 'a tag; can be repeated' },
  removeTag: { flags: '--remove-tag <tag>', kind: 'texts', description: 'a tag to remove; can be repeated' },
  link: { flags: '--link <path>', kind: 'texts', description: 'path of an entry to link to; can be repeated' },
  removeLink: { flags: '--remove-link <path>', kind: 'texts', description: 'a link to remove; can be repeated' },
  type: {
    flags: '--type <type>',
    kind: 'choice',
    choices: ['finding', 'decision', 'artifact', 'reference', 'summary'],
    description: 'the type of entry',
  },
  by: { flags: '--by <group>', kind: 'choice', choices: ['tool', 'session', 'day'], description: 'a row for each' },
  reason: { flags: '--reason <line>', kind: 'text', description: 'what changed and why, for the changelog' },
  ifRevision: { flags: '--if-revision <revision>', kind: 'text', description: 'only if nothing has changed since' },
  depth: { flags: '--depth <count>', kind: 'count', description: 'links between the entry and what is found' },
  direction: {
    flags: '--direction <direction>',
    kind: 'choice',
    choices: ['links', 'backlinks', 'both'],
    description: 'which links to follow',
  },
  maxChars: { flags: '--max-chars <count>', kind: 'count', description: 'at most so many characters' },
  summaries: { flags: '--summaries <count>', kind: 'count', description: 'so many of the latest summaries' },
  map: { flags: '--map', kind: 'flag', description: 'fill the room that is left with a map of the repository' },
  focus: { flags: '--focus <name>', kind: 'texts', description: 'a path, name or word; can be repeated' },
  from: { flags: '--from <folder>', kind: 'text', description: 'where it was', completes: 'directory' },
  to: { flags: '--to <place>', kind: 'text', description: 'where to', completes: 'directory' },
  overwrite: { flags: '--overwrite', kind: 'flag', description: 'replace what differs there' },
  fixIndex: { flags: '--fix-index', kind: 'flag', description: 'rebuild an index that is missing, stale or damaged' },
  report: { flags: '--report', kind: 'flag', description: 'print what was found, by rule, on standard error' },
  mask: { flags: '--mask', kind: 'flag', description: 'replace every character by *' },
  check: { flags: '--check', kind: 'flag', description: 'print nothing; exit with 1 when something was found' },
  out: {
    flags: '-o, --out <file>',
    kind: 'text',
    description: 'write there, not to standard output',
    completes: 'file',
  },
  args: { flags: '--args <json>', kind: 'json', description: 'arguments of the call, a JSON object' },
  threshold: { flags: '--threshold <bytes>', kind: 'count', description: 'smaller outputs are passed on unchanged' },
  allProjects: {
    flags: '--all-projects',
    kind: 'flag',
    description: 'outputs of every workspace, not only of this one',
  },
  tools: { flags: '--tools <groups>', kind: 'text', description: 'of contexts,history,store,memory; all by default' },
  readOnly: { flags: '--read-only', kind: 'flag', description: 'without tools that write' },
  http: { flags: '--http', kind: 'flag', description: 'serve over HTTP' },
  port: { flags: '--port <number>', kind: 'count', description: 'port of the server' },
  host: { flags: '--host <address>', kind: 'text', description: 'address to listen on' },
  tokenFile: {
    flags: '--token-file <file>',
    kind: 'text',
    description: 'file of the bearer token; made when it is not there',
    completes: 'file',
  },
  scope: {
    flags: '--scope <scope>',
    kind: 'choice',
    choices: ['user', 'project'],
    description: 'for all projects of this user (the default), or for this one',
  },
  print: { flags: '--print', kind: 'flag', description: 'print what would be written, and write nothing' },
  remove: { flags: '--remove', kind: 'flag', description: 'take it out again' },
  man: { flags: '--man', kind: 'flag', description: 'the manual page, as roff' },
  yes: { flags: '-y, --yes', kind: 'flag', description: 'do not ask' },
  dryRun: { flags: '--dry-run', kind: 'flag', description: 'only say what would be done' },
  json: { flags: '--json', kind: 'flag', description: 'print one JSON document' },
  jsonl: { flags: '--jsonl', kind: 'flag', description: 'print one JSON object for each item, as they come' },
  color: {
    flags: '--color <when>',
    kind: 'choice',
    choices: ['auto', 'always', 'never'],
    description: 'colours; auto: on a terminal',
  },
  pager: {
    flags: '--pager <when>',
    kind: 'choice',
    choices: ['auto', 'never'],
    description: 'auto: $PAGER for what does not fit on a terminal',
  },
  verbose: { flags: '--verbose', kind: 'flag', description: 'print what the library reports, on standard error' },
} as const satisfies Readonly<Record<string, OptionRow>>

export type OptionName = keyof typeof OPTIONS

/** A range such as `10:20`, `10:` or `:20`. */
export interface Range {
  readonly from?: number
  readonly to?: number
}

interface ValueOfKind {
  flag: true
  text: string
  texts: readonly string[]
  count: number
  limit: number
  range: Range
  json: Readonly<Record<string, unknown>>
  choice: string
}

type ValueOf<Row> = Row extends { kind: 'choice'; choices: readonly (infer Choice)[] }
  ? Choice
  : Row extends { kind: infer Kind extends OptionKind }
    ? ValueOfKind[Kind]
    : never

export type OptionValues = { readonly [Name in OptionName]?: ValueOf<(typeof OPTIONS)[Name]> }

/** Options that every command has. */
export const COMMON_OPTIONS = ['color', 'verbose'] as const satisfies readonly OptionName[]

const COUNT = /^(?:0|[1-9]\d{0,14})$/

/** @throws Error with what is wrong, for the parser to report */
export function parseOption(row: OptionRow, text: string, previous: unknown): unknown {
  switch (row.kind) {
    case 'count':
      return count(text)
    case 'limit':
      return text === 'all' ? Number.POSITIVE_INFINITY : positive(text)
    case 'range':
      return range(text)
    case 'json':
      return jsonObject(text)
    case 'texts':
      return [...(Array.isArray(previous) ? previous : []), text]
    default:
      return text
  }
}

function count(text: string): number {
  if (!COUNT.test(text)) {
    throw new Error(`'${text}' is no whole number from 0 up.`)
  }
  return Number(text)
}

function positive(text: string): number {
  const number = count(text)
  if (number === 0) {
    throw new Error("'0' is too small: give a number from 1 up, or 'all'.")
  }
  return number
}

function range(text: string): Range {
  const parts = /^(\d{0,15})(?::(\d{0,15}))?$/.exec(text)
  const [, from = '', to] = parts ?? []
  if (parts === null || (from === '' && (to ?? '') === '')) {
    throw new Error(`'${text}' is no range: write it as 10:20, 10: or :20.`)
  }
  return {
    ...(from === '' ? {} : { from: Number(from) }),
    ...(to === undefined ? { to: Number(from) } : to === '' ? {} : { to: Number(to) }),
  }
}

function jsonObject(text: string): Readonly<Record<string, unknown>> {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new Error(`this is no JSON: ${(error as Error).message}.`)
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new Error('this is no JSON object: write it as {"path":"a.txt"}.')
  }
  return value as Readonly<Record<string, unknown>>
}
