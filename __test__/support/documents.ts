/** The documents of the repository: where they are, their code, links and headings. */

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'

export const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** Folders without documents of the project. */
const SKIPPED = new Set([
  'node_modules',
  'target',
  'dist',
  'coverage',
  'golden',
  'failing-outputs',
  'tests',
  'fuzz',
  'site',
])

/** A fenced block of a page. */
export interface Block {
  /** The first word behind the fence. */
  readonly language: string
  /** The other words. */
  readonly label: string
  readonly code: string
  /** The line of the fence, from 1. */
  readonly line: number
}

export const textOf = (path: string): string => readFileSync(join(ROOT, path), 'utf8').replaceAll('\r\n', '\n')

/** All documents in Markdown, relative to the root, with `/`. */
export function documents(folder = ''): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true })
    .filter(({ name }) => !name.startsWith('.') && !SKIPPED.has(name))
    .flatMap((entry) => {
      const path = posix.join(folder, entry.name)
      return entry.isDirectory() ? documents(path) : path.endsWith('.md') ? [path] : []
    })
    .sort()
}

/** The README and all pages below `docs/`: what a user reads. */
export const pages = (): string[] => documents().filter((path) => path === 'README.md' || path.startsWith('docs/'))

/** The fenced blocks of a text, in their order. */
export function blocksOf(text: string): Block[] {
  return [...text.matchAll(/^( *)(```+)([^\n`]*)\n([\s\S]*?)^\1\2 *$/gm)].map((match) => {
    const [, indent = '', , info = '', code = ''] = match
    const [language = '', ...label] = info.trim().split(/\s+/)
    return {
      language,
      label: label.join(' '),
      code: indent === '' ? code : code.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
      line: text.slice(0, match.index).split('\n').length,
    }
  })
}

/** A text without its fenced blocks. */
const proseOf = (text: string): string => text.replace(/^( *)(```+)[\s\S]*?^\1\2 *$/gm, '')

/** The links of a text that lead into the repository, outside of its code. */
export function linksOf(text: string): string[] {
  const prose = proseOf(text)
  const inline = [...prose.matchAll(/\]\(\s*<?([^)\s>]+)/g), ...prose.matchAll(/\b(?:href|src)=["']([^"']+)/g)]
  const references = [...prose.matchAll(/^ {0,3}\[[^\]]+\]:\s*<?([^\s>]+)/gm)]
  return [...inline, ...references].map(([, link = '']) => link).filter((link) => !/^[a-z][a-z0-9+.-]*:/i.test(link))
}

/** The names of a text's headings, as GitHub and npm make them. */
export function headingsOf(text: string): string[] {
  const seen = new Map<string, number>()
  return [...proseOf(text).matchAll(/^#+ +(.+?) *$/gm)].map(([, title = '']) => {
    const name = title
      .toLowerCase()
      .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-')
    const count = seen.get(name) ?? 0
    seen.set(name, count + 1)
    return count === 0 ? name : `${name}-${count}`
  })
}

/**
 * The links of a document that lead nowhere.
 *
 * @param has whether a path, relative to the root, is there
 */
export function deadLinksOf(path: string, has: (target: string) => boolean): string[] {
  return linksOf(textOf(path))
    .filter((link) => {
      const [file = '', heading] = link.split('#')
      const target = file === '' ? path : posix.join(posix.dirname(path), decodeURIComponent(file))
      return !has(target) || (heading !== undefined && !headingsOf(textOf(target)).includes(heading))
    })
    .map((link) => `${path}: ${link}`)
}

/** Whether a file or folder of the repository is there. */
export const isInRepository = (target: string): boolean => !target.startsWith('..') && existsSync(join(ROOT, target))
