// Copies the documents of the repository into pages/, so that the links between them hold in the site as well.
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const SITE = dirname(fileURLToPath(import.meta.url))
const ROOT = join(SITE, '..')
const PAGES = join(SITE, 'pages')

rmSync(PAGES, { recursive: true, force: true })
mkdirSync(join(PAGES, 'public'), { recursive: true })
cpSync(join(ROOT, 'docs'), join(PAGES, 'docs'), { recursive: true })
for (const name of ['README.md', 'ARCHITECTURE.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md']) {
  cpSync(join(ROOT, name), join(PAGES, name))
}
cpSync(join(ROOT, 'LICENSE'), join(PAGES, 'public', 'LICENSE.txt'))
cpSync(join(SITE, 'icon.svg'), join(PAGES, 'public', 'icon.svg'))
writeFileSync(
  join(PAGES, 'index.md'),
  `---
layout: home
title: agent-context
hero:
  name: agent-context
  text: Tool outputs out of the conversation, and never lost
  tagline: A library for TypeScript agents that stores what tools return, gives the model a short placeholder, and finds the rest when it is needed
  actions:
    - { theme: brand, text: Quickstart, link: /docs/quickstart }
    - { theme: alt, text: All guides, link: /docs/ }
features:
  - { title: Whole or not there, details: 'A save is acknowledged when its file is there, whole. Any number of processes share a directory safely.', link: /docs/durability }
  - { title: Found again, details: 'Full-text search with snippets, selection within a budget of tokens, and tools with which the model reads a part.', link: /docs/guides/search-and-select }
  - { title: Without secrets, details: 'Keys, tokens and passwords are removed from everything before it is stored.', link: /docs/guides/redaction }
  - { title: In your framework, details: 'One line for AI SDK, LangChain, LangGraph, OpenAI Agents, Claude Agent SDK, MCP, Mastra and five more.', link: /docs/guides/frameworks }
  - { title: From the shell, details: 'A program that lists, searches, checks and exports, and an MCP server for coding agents.', link: /docs/guides/cli }
  - { title: Honest figures, details: 'Measured beside what you would use instead, with the cases in which it loses.', link: /docs/benchmarks }
---
`,
)
