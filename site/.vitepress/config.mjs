import { defineConfig } from 'vitepress'

/** Files of the repository that documents link to and that are no pages: where they are in the site. */
const FILES = { LICENSE: '/LICENSE.txt' }

const page = (text, link) => ({ text, link: `/docs/${link}` })

export default defineConfig({
  title: 'agent-context',
  description: 'Stores the tool outputs of TypeScript agents, and what should outlive one conversation',
  lang: 'en',
  srcDir: 'pages',
  outDir: 'dist',
  cleanUrls: true,
  lastUpdated: false,
  head: [['link', { rel: 'icon', href: '/icon.svg', type: 'image/svg+xml' }]],
  markdown: {
    languageAlias: { console: 'shellsession', text: 'txt' },
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    anchor: { slugify: headingId },
    config(markdown) {
      linkFiles(markdown)
      makeTablesAccessible(markdown)
    },
  },
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    nav: [
      page('Quickstart', 'quickstart'),
      page('Guides', ''),
      page('Reference', 'reference/'),
      page('Benchmarks', 'benchmarks'),
      page('Comparison', 'comparison'),
    ],
    sidebar: [
      {
        text: 'Start',
        items: [page('Overview', ''), page('Quickstart', 'quickstart'), page('Comparison', 'comparison')],
      },
      {
        text: 'Guides',
        items: [
          page('Tool outputs', 'guides/tool-outputs'),
          page('Search and select', 'guides/search-and-select'),
          page('Offload', 'guides/offload'),
          page('Sessions', 'guides/sessions'),
          page('History', 'guides/history'),
          page('Shared store', 'guides/shared-store'),
          page('Repository memory', 'guides/repository-memory'),
          page('State', 'guides/state'),
          page('Fleets', 'guides/fleet'),
          page('Redaction', 'guides/redaction'),
          page('File systems', 'guides/file-systems'),
          page('Command line', 'guides/cli'),
          page('MCP server and hooks', 'guides/mcp'),
        ],
      },
      {
        text: 'Frameworks',
        items: [
          page('AI SDK', 'guides/ai-sdk'),
          page('LangChain', 'guides/langchain'),
          page('LangGraph', 'guides/langgraph'),
          page('OpenAI Agents', 'guides/openai-agents'),
          page('Claude Agent SDK', 'guides/claude-agent'),
          page('MCP SDK', 'guides/mcp-sdk'),
          page('Mastra', 'guides/mastra'),
          page('Strands Agents', 'guides/strands'),
          page('Anthropic SDK', 'guides/anthropic'),
          page('Deep Agents', 'guides/deepagents'),
          page('Pi', 'guides/pi'),
          page('How they are tested', 'guides/frameworks'),
          page('Contracts of stores', 'guides/testing'),
        ],
      },
      {
        text: 'Coding agents',
        items: [
          page('Claude Code', 'guides/claude-code'),
          page('Codex', 'guides/codex'),
          page('Cursor', 'guides/cursor'),
          page('Gemini CLI', 'guides/gemini-cli'),
          page('opencode', 'guides/opencode'),
        ],
      },
      {
        text: 'Concepts',
        items: [
          page('Durability', 'durability'),
          page('Sessions and leases', 'concepts/sessions-and-leases'),
          page('Ranking', 'concepts/ranking'),
          page('How redaction works', 'concepts/redaction'),
        ],
      },
      {
        text: 'Reference',
        items: [
          page('Overview', 'reference/'),
          page('ContextManager', 'reference/context-manager'),
          page('ContextHistory', 'reference/context-history'),
          page('ContextStore', 'reference/context-store'),
          page('RepoMemory', 'reference/repo-memory'),
          page('StateStore', 'reference/state-store'),
          page('Recorders', 'reference/recorders'),
          page('Tools for models', 'reference/tools'),
          page('Redaction', 'reference/redaction'),
          page('Shared types', 'reference/shared-types'),
          page('Options', 'reference/options'),
          page('Errors', 'errors'),
          page('File formats', 'file-formats'),
        ],
      },
      { text: 'Operation', items: [page('Deployment', 'deployment'), page('Benchmarks', 'benchmarks')] },
    ],
  },
})

/** The id of a heading, made as GitHub does, so that links between documents work in both places. */
function headingId(title) {
  return title
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-')
}

/** Links to files that are no pages. */
function linkFiles(markdown) {
  const standard =
    markdown.renderer.rules.link_open ??
    ((tokens, index, options, _env, self) => self.renderToken(tokens, index, options))
  markdown.renderer.rules.link_open = (tokens, index, options, env, self) => {
    const target = tokens[index].attrGet('href')
    const name = target?.replace(/^(?:\.\.?\/)*/, '')
    if (name !== undefined && Object.hasOwn(FILES, name)) {
      tokens[index].attrSet('href', FILES[name])
      tokens[index].attrSet('target', '_self')
      return self.renderToken(tokens, index, options)
    }
    return standard(tokens, index, options, env, self)
  }
}

/** Wide tables scroll, with the keyboard as well; a heading without a text is no heading. */
function makeTablesAccessible({ renderer }) {
  renderer.rules.table_open = () => '<table tabindex="0">\n'
  renderer.rules.th_open = (tokens, index, options, _env, self) => {
    if (tokens[index + 1].content === '') {
      tokens[index].tag = 'td'
      tokens[index + 2].tag = 'td'
    }
    return self.renderToken(tokens, index, options)
  }
}
