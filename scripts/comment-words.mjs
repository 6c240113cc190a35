// Extracts the comments of Rust, TypeScript and JavaScript sources and the prose of Markdown, and counts discouraged words in them.

const WORDS = [
  'whoever',
  'nobody',
  'somebody',
  'everybody',
  'anybody',
  'anew',
  'is told',
  'are told',
  'tells',
  'stands',
  'as it is',
  'at hand',
  'alone',
]
const PATTERN = new RegExp(`\\b(?:${WORDS.join('|').replaceAll(' ', '\\s+')})\\b`, 'gi')
/** The tokens of a source: comments, and the string literals in which a `//` is not a comment. A lifetime of Rust is not a literal. */
const TOKEN = new RegExp(
  [
    String.raw`(?<comment>\/\/[^\n]*|\/\*[\s\S]*?\*\/)`,
    String.raw`b?r(?<fence>#*)"[\s\S]*?"\k<fence>`,
    String.raw`"(?:[^"\\]|\\[\s\S])*"`,
    String.raw`'(?:[^'\\\n]|\\[^\n])*'(?!\w)`,
    '`(?:[^`\\\\]|\\\\[\\s\\S])*`',
    // A regular expression literal of JavaScript, which may contain quotes.
    String.raw`(?<=[=(,:[!&|?{};]\s*)\/(?![*\/])(?:[^\/\\\n[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/`,
  ].join('|'),
  'g',
)

/** Returns the non-empty lines of a source's comments, including doc comments, without comment markers. */
export function commentLines(source) {
  return [...source.matchAll(TOKEN)]
    .flatMap(({ groups }) => (groups?.comment ?? '').split('\n'))
    .map((line) => line.replace(/^\s*(?:\/\/[/!]?|\/\*[*!]?|\*(?!\/))?|\*\/\s*$/g, '').trim())
    .filter((line) => line !== '')
}

/** Returns the non-empty lines of a Markdown text, without fenced code blocks, code spans and HTML comments. */
export function proseLines(markdown) {
  return markdown
    .replace(/^( *)(`{3,}|~{3,})[^\n]*\n[\s\S]*?^ *\2`*[ \t]*$/gm, '')
    .replace(/<!--[\s\S]*?-->/g, '')
    .replace(/(`+)(?!`)[^\n]*?[^`\n]\1(?!`)/g, '')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
}

/** Returns every occurrence of a discouraged word, in lower case. A phrase may span two lines. */
export function countWords(lines) {
  return [...lines.join('\n').matchAll(PATTERN)].map(([word]) => word.toLowerCase().replace(/\s+/g, ' '))
}

/** Returns the number of discouraged words per 1,000 lines of all files together. */
export function rateOf(files) {
  const lines = files.reduce((sum, file) => sum + file.lines, 0)
  const words = files.reduce((sum, file) => sum + file.words.length, 0)
  return lines === 0 ? 0 : (words / lines) * 1000
}
