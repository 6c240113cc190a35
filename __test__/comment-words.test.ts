/** The count of discouraged words, `npm run words`. */

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'

const { commentLines, countWords, proseLines, rateOf } = (await import(
  new URL('../scripts/comment-words.mjs', import.meta.url).href
)) as {
  commentLines(source: string): string[]
  countWords(lines: readonly string[]): string[]
  proseLines(markdown: string): string[]
  rateOf(files: readonly { lines: number; words: readonly string[] }[]): number
}

describe('commentLines', () => {
  test('returns line, block and doc comments without their markers', () => {
    const source = `//! of a module
/// of an item
fn f<'a>(x: &'a str) {} // behind code
/**
 * of a function
 */
/* short */
`
    assert.deepEqual(commentLines(source), ['of a module', 'of an item', 'behind code', 'of a function', 'short'])
  })

  test('ignores comment markers in string and regular expression literals', () => {
    const source = String.raw`
const url = 'http://nobody', other = "// nobody", third = ${'`'}/* nobody */${'`'}
let raw = r#"// "nobody" "#;
const pattern = /["'] \/\/ nobody/
// real
`
    assert.deepEqual(commentLines(source), ['real'])
  })
})

describe('proseLines', () => {
  test('returns the prose of Markdown without code', () => {
    const markdown = `# Title

A line with \`nobody\` and \`\`a \` nobody\`\` as code.

\`\`\`ts
// nobody
\`\`\`

- an item
  ~~~text
  nobody
  ~~~
<!-- nobody -->
The end.
`
    assert.deepEqual(proseLines(markdown), ['# Title', 'A line with  and  as code.', '- an item', 'The end.'])
  })
})

describe('npm run words', () => {
  const root = fileURLToPath(new URL('..', import.meta.url))

  test('fails from 5 words per 1,000 lines, in comments and in prose', () => {
    const folder = mkdtempSync(join(root, '__test__', 'words-'))
    try {
      const run = (name: string, first: string, line: string) => {
        writeFileSync(join(folder, name), `${first}\n${`${line}\n`.repeat(199)}`)
        return spawnSync(process.execPath, [join(root, 'scripts', 'words.mjs'), relative(root, join(folder, name))])
      }
      for (const [name, line] of [
        ['prose.md', 'A line.'],
        ['source.ts', '// A line.'],
      ] as const) {
        assert.equal(run(name, line, line).status, 0)
        assert.equal(run(name, `${line} Anew.`, line).status, 1)
      }
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})

describe('countWords', () => {
  test('returns every whole word, in any case, and phrases across lines', () => {
    assert.deepEqual(countWords(['Whoever is', 'told tells nobody', 'standalone, standstill']), [
      'whoever',
      'is told',
      'tells',
      'nobody',
    ])
    assert.deepEqual(countWords(['it stays as it is, at hand, alone']), ['as it is', 'at hand', 'alone'])
  })
})

describe('rateOf', () => {
  test('is the number of words per 1,000 lines', () => {
    assert.equal(
      rateOf([
        { lines: 400, words: ['anew'] },
        { lines: 100, words: ['alone'] },
      ]),
      4,
    )
    assert.equal(rateOf([]), 0)
  })
})
