// Writes docs/reference/ from index.d.ts, the record of the public API: `node scripts/reference.mjs`, or `--check` to compare.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..')
const FOLDER = join(ROOT, 'docs', 'reference')
const NOTE = '<!-- Generated from index.d.ts by scripts/reference.mjs. Do not edit. -->\n\n'

/** The pages: what each describes, and the types that belong to it. A type goes to the first page whose declarations name it. */
const PAGES = [
  {
    file: 'context-manager',
    title: 'ContextManager',
    roots: ['ContextManager', 'ContextManagerOptions', 'DEFAULT_CONTEXT_DIRECTORY', 'DEFAULT_PERSIST_THRESHOLD'],
    guide: ['Tool outputs', '../guides/tool-outputs.md'],
  },
  {
    file: 'context-history',
    title: 'ContextHistory',
    roots: ['ContextHistory', 'ContextHistoryOptions', 'DEFAULT_HISTORY_PATH'],
    guide: ['History', '../guides/history.md'],
  },
  {
    file: 'context-store',
    title: 'ContextStore',
    roots: ['ContextStore', 'ContextStoreOptions', 'DEFAULT_CONTEXT_STORE'],
    guide: ['Shared store', '../guides/shared-store.md'],
  },
  {
    file: 'repo-memory',
    title: 'RepoMemory',
    roots: ['RepoMemory', 'RepoMemoryOptions', 'RepoMemoryLocation', 'summariseStep', 'DEFAULT_REPO_MEMORY_ROOT'],
    guide: ['Repository memory', '../guides/repository-memory.md'],
  },
  {
    file: 'state-store',
    title: 'StateStore',
    roots: ['StateStore', 'StateStoreOptions', 'DEFAULT_STATE_PATH'],
    guide: ['State', '../guides/state.md'],
  },
  {
    file: 'recorders',
    title: 'Recorders',
    roots: ['createToolRecorder', 'autoRecord'],
    guide: ['Tool outputs', '../guides/tool-outputs.md'],
  },
  {
    file: 'tools',
    title: 'Tools for models',
    roots: ['contextTools', 'contextStoreTools', 'readContextTool', 'toText'],
    guide: ['Offload', '../guides/offload.md'],
  },
  {
    file: 'redaction',
    title: 'Redaction',
    roots: ['redact', 'redactStream', 'redactValue', 'RedactionOptions', 'RedactionReport'],
    guide: ['Redaction', '../guides/redaction.md'],
  },
]
/** Types that several pages name, in their own place. */
const SHARED = { file: 'shared-types', title: 'Shared types', roots: [], guide: undefined }
/** The objects of options, in the order of the options page. */
const OPTION_PAGES = [
  'ContextManagerOptions',
  'RetentionOptions',
  'OffloadPolicy',
  'ContextHistoryOptions',
  'ContextStoreOptions',
  'RepoMemoryOptions',
  'StateStoreOptions',
  'RedactionOptions',
]

const source = ts.createSourceFile(
  'index.d.ts',
  readFileSync(join(ROOT, 'index.d.ts'), 'utf8').replaceAll('\r\n', '\n'),
  ts.ScriptTarget.Latest,
  true,
)
const text = source.text

/** Declarations by name: functions may be several. */
const declarations = new Map()
for (const statement of source.statements) {
  const names = ts.isVariableStatement(statement)
    ? statement.declarationList.declarations.map(({ name }) => name.getText(source))
    : [statement.name?.getText(source)].filter((name) => name !== undefined)
  for (const name of names) {
    declarations.set(name, [...(declarations.get(name) ?? []), statement])
  }
}

/** The names of declared types that a declaration names. */
function namedBy(statement) {
  const names = new Set()
  const visit = (node) => {
    if (ts.isIdentifier(node) && declarations.has(node.text)) {
      names.add(node.text)
    }
    ts.forEachChild(node, visit)
  }
  ts.forEachChild(statement, visit)
  return names
}

const owned = new Map(PAGES.flatMap((page) => page.roots.map((name) => [name, page])))

/** How far each declaration is from what a page is about; declarations that belong to other pages are not passed through. */
function distancesFrom(page) {
  const distances = new Map(page.roots.map((name) => [name, 0]))
  for (const [name, distance] of distances) {
    for (const named of (declarations.get(name) ?? []).flatMap((statement) => [...namedBy(statement)])) {
      if (!owned.has(named) && !distances.has(named)) {
        distances.set(named, distance + 1)
      }
    }
  }
  return distances
}

const distances = new Map(PAGES.map((page) => [page, distancesFrom(page)]))

/** The page that is nearest to a declaration; of several equally near ones none, and it is among the shared types. */
function pageOf(name) {
  const own = owned.get(name)
  if (own !== undefined) {
    return own
  }
  const near = PAGES.map((page) => ({ page, distance: distances.get(page)?.get(name) ?? Infinity }))
  const least = Math.min(...near.map(({ distance }) => distance))
  const nearest = near.filter(({ distance }) => distance === least)
  return nearest.length === 1 && least < Infinity ? nearest[0].page : SHARED
}

const escapeCell = (cell) => cell.replaceAll('|', '\\|').replaceAll('\n', ' ')
const anchor = (title) =>
  title
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-')

/** The anchor of a declaration on its page. Names that differ only in case have the same anchor; it is numbered from the second heading on. */
function anchorOf(name) {
  const page = pageOf(name)
  const headings = namesOn(page)
    .filter((other) => rank(page, other) < rank(page, name) && anchor(other) === anchor(name))
    .reduce((count, other) => count + declarations.get(other).length, 0)
  return headings === 0 ? anchor(name) : `${anchor(name)}-${headings}`
}

/** The doc comment of a node: its text, its default, its examples and its other tags. */
function documentationOf(node) {
  const comments = ts.getJSDocCommentsAndTags(node).filter(ts.isJSDoc)
  const last = comments.at(-1)
  if (last === undefined) {
    return { body: '', tags: [] }
  }
  const plain = (comment) =>
    (ts.getTextOfJSDocComment(comment) ?? '').replace(/\{@link (?:\w+\.)*(\w+)\}/g, '`$1`').trim()
  const tags = (last.tags ?? []).map((tag) => ({
    name: tag.tagName.text,
    parameter: ts.isJSDocParameterTag(tag) ? tag.name.getText(source) : undefined,
    body: plain(tag.comment),
  }))
  return { body: plain(last.comment), tags }
}

/** A declaration's text without comments, for a code block. */
function signatureOf(node) {
  const start = node.getStart(source)
  return text
    .slice(start, node.end)
    .replace(/\/\*\*[\s\S]*?\*\/\s*/g, '')
    .replace(/;$/, '')
    .replace(/^declare /, '')
}

/** Names of declared types in a text of code, as links below it. */
function seeAlso(node, page, self) {
  const names = [...namedBy(node)].filter((name) => name !== self && declarations.has(name))
  const links = names.map((name) => {
    const target = pageOf(name)
    return `[\`${name}\`](${target === page ? '' : `${target.file}.md`}#${anchorOf(name)})`
  })
  return links.length === 0 ? '' : `Types: ${links.join(', ')}\n\n`
}

function tagLines(tags) {
  const lines = []
  for (const { name, parameter, body } of tags) {
    if (name === 'param') {
      lines.push(`- \`${parameter}\`: ${body}`)
    } else if (name === 'returns') {
      lines.push(`- Returns ${body}`)
    } else if (name === 'throws') {
      lines.push(
        `- ${body.startsWith('(rejects)') ? `Rejects: ${body.slice('(rejects)'.length).trim()}` : `Throws: ${body}`}`,
      )
    } else if (name === 'default') {
      lines.push(`- Default: ${body}`)
    }
  }
  return lines.length === 0 ? '' : `${lines.join('\n')}\n\n`
}

/** Examples are fragments: their types are not checked and they do not run, which their language says. */
function exampleOf(tags) {
  return tags
    .filter(({ name }) => name === 'example')
    .map(({ body }) => `${body.replace(/^```ts\n/, '```ts example\n')}\n\n`)
    .join('')
}

function section(title, node, page, level, self) {
  const { body, tags } = documentationOf(node)
  const code = `\`\`\`ts signature\n${signatureOf(node)}\n\`\`\`\n\n`
  return `${'#'.repeat(level)} ${title}\n\n${code}${body === '' ? '' : `${body}\n\n`}${tagLines(tags)}${exampleOf(tags)}${seeAlso(node, page, self)}`
}

function membersTable(members) {
  const rows = members
    .filter((member) => member.name !== undefined)
    .map((member) => {
      const name = member.name.getText(source)
      const { body, tags } = documentationOf(member)
      const standard = tags.find((tag) => tag.name === 'default')?.body ?? ''
      const isOptional = member.questionToken !== undefined
      const type =
        ts.isPropertySignature(member) && member.type !== undefined ? typeText(member.type) : signatureOf(member)
      const cells = [
        `\`${name}${isOptional ? '?' : ''}\``,
        `\`${escapeCell(type)}\``,
        escapeCell(/^\S+$/.test(standard) ? `\`${standard}\`` : standard),
        escapeCell(body),
      ]
      return `| ${cells.join(' | ')} |`
    })
  return rows.length === 0 ? '' : `| member | type | default | |\n|---|---|---|---|\n${rows.join('\n')}\n\n`
}

/** A type in one line, without the `| null | undefined` that every optional member has. */
function typeText(type) {
  return type
    .getText(source)
    .replace(/\/\*\*[\s\S]*?\*\/\s*/g, '')
    .replace(/\s+/g, ' ')
    .replace(/ \| null \| undefined$/, '')
    .replace(/^\((.*)\)$/, '$1')
}

function describe(name, page) {
  const [statement] = declarations.get(name)
  if (ts.isClassDeclaration(statement)) {
    return describeClass(name, statement, page)
  }
  if (ts.isInterfaceDeclaration(statement)) {
    const { body, tags } = documentationOf(statement)
    const extended = statement.heritageClauses?.flatMap(({ types }) => types.map((type) => type.getText(source))) ?? []
    const bases = extended.length === 0 ? '' : `Extends ${extended.map((base) => `\`${base}\``).join(', ')}.\n\n`
    const named = statement.members.filter((member) => member.name !== undefined)
    const others = statement.members.filter((member) => member.name === undefined)
    const loose = others
      .map((member) => `\`\`\`ts signature\n${signatureOf(member)}\n\`\`\`\n\n${documentationOf(member).body}\n\n`)
      .join('')
    return `## ${name}\n\n${body === '' ? '' : `${body}\n\n`}${bases}${tagLines(tags)}${exampleOf(tags)}${loose}${membersTable(named)}${seeAlso(statement, page, name)}`
  }
  return (declarations.get(name) ?? []).map((each) => section(name, each, page, 2, name)).join('')
}

function describeClass(name, statement, page) {
  const { body, tags } = documentationOf(statement)
  let out = `## ${name}\n\n${body}\n\n${exampleOf(tags)}`
  const seen = new Map()
  for (const member of statement.members) {
    if (ts.isPropertyDeclaration(member) && member.name.getText(source) === '#private') {
      continue
    }
    const isConstructor = ts.isConstructorDeclaration(member)
    const title = isConstructor
      ? `new ${name}()`
      : `${isStatic(member) ? `${name}.` : ''}${member.name.getText(source)}${ts.isMethodDeclaration(member) ? '()' : ''}`
    const count = seen.get(title) ?? 0
    seen.set(title, count + 1)
    out += section(count === 0 ? title : `${title}, form ${count + 1}`, member, page, 3, name)
  }
  return out
}

const isStatic = (member) => member.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.StaticKeyword) ?? false

function pageText(page) {
  const names = namesOn(page)
  const guide = page.guide === undefined ? '' : `Guide: [${page.guide[0]}](${page.guide[1]}). `
  return (
    `${NOTE}# ${page.title}\n\n${guide}[All pages](index.md)\n\n${names.map((name) => describe(name, page)).join('')}`.trimEnd() +
    '\n'
  )
}

/** The names of a page's declarations, in the order of its headings. */
function namesOn(page) {
  return [...declarations.keys()]
    .filter((name) => pageOf(name) === page)
    .sort((one, other) => rank(page, one) - rank(page, other))
}

/** What a page is about comes first; the rest in the order of the declarations. */
function rank(page, name) {
  const index = page.roots.indexOf(name)
  return index >= 0 ? index : page.roots.length + [...declarations.keys()].indexOf(name)
}

function indexText() {
  const all = [...PAGES, SHARED]
  const rows = all.map((page) => {
    return `| [${page.title}](${page.file}.md) | ${namesOn(page)
      .map((name) => `[\`${name}\`](${page.file}.md#${anchorOf(name)})`)
      .join(', ')} |`
  })
  return `${NOTE}# Reference

Every class, function and type of the main entry, from the published declarations (\`index.d.ts\`). \`agent-context/tools\` exports the tools for models
again. The adapters' entries are described in their [guides](../index.md#guides); their types come with the package.

| page | declarations |
|---|---|
${rows.join('\n')}

[Options](options.md) lists all options with their defaults, [Errors](../errors.md) all codes.
`
}

function optionsText() {
  const sections = OPTION_PAGES.map((name) => {
    const [statement] = declarations.get(name)
    const page = pageOf(name)
    return `## ${name}\n\n${documentationOf(statement).body}\n\n${membersTable(statement.members)}[In the reference](${page.file}.md#${anchorOf(name)})\n\n`
  })
  return `${NOTE}# Options

Options of constructors. All are optional except where the text says otherwise; \`undefined\` and \`null\` mean the default. An option that does not exist is refused, here and in every other options object, with the
nearest name that does: \`unknown option 'persistTreshold': did you mean 'persistThreshold'?\`. Data (entries, records, outputs, events, \`config\`) may have other members. Options of single calls are in the
[reference](index.md).

${sections.join('').trimEnd()}
`
}

const files = new Map([...PAGES, SHARED].map((page) => [`${page.file}.md`, pageText(page)]))
files.set('index.md', indexText())
files.set('options.md', optionsText())

const stale = [
  ...[...files].filter(([name, content]) => read(name) !== content).map(([name]) => name),
  ...(existsSync(FOLDER) ? readdirSync(FOLDER).filter((name) => !files.has(name)) : []),
]
if (process.argv.includes('--check')) {
  if (stale.length > 0) {
    console.error(`docs/reference is not what index.d.ts says: ${stale.join(', ')}. Run node scripts/reference.mjs.`)
    process.exit(1)
  }
} else {
  mkdirSync(FOLDER, { recursive: true })
  for (const [name, content] of files) {
    writeFileSync(join(FOLDER, name), content)
  }
}

function read(name) {
  try {
    return readFileSync(join(FOLDER, name), 'utf8').replaceAll('\r\n', '\n')
  } catch {
    return undefined
  }
}
