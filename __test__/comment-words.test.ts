import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

const { commentLines, countWords, rateOf } = (await import(
  new URL('../scripts/comment-words.mjs', import.meta.url).href
)) as {
  commentLines(source: string): string[]
  countWords(lines: readonly string[]): string[]
  rateOf(files: readonly { lines: number; words: readonly string[] }[]): number
}

describe('the lines of comments', () => {
  test('are those of line, block and doc comments, without their markers', () => {
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

  test('are not what looks like one in a text', () => {
    const source = String.raw`
const url = 'http://nobody', other = "// nobody", third = ${'`'}/* nobody */${'`'}
let raw = r#"// "nobody" "#;
const pattern = /["'] \/\/ nobody/
// real
`
    assert.deepEqual(commentLines(source), ['real'])
  })
})

describe('the words', () => {
  test('are counted as often as they are there, whole, in any case, across lines', () => {
    assert.deepEqual(countWords(['Whoever is', 'told tells nobody', 'standalone, standstill']), [
      'whoever',
      'is told',
      'tells',
      'nobody',
    ])
    assert.deepEqual(countWords(['it stays as it is, at hand, alone']), ['as it is', 'at hand', 'alone'])
  })

  test('their rate is for each 1,000 lines', () => {
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
