// The lines of comments in Rust, TypeScript and JavaScript, and which words of a private dialect they have.

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
/** What comments are recognised beside: texts, so that a `//` in one is no comment. Rust's lifetimes are not texts. */
const TOKEN = new RegExp(
  [
    String.raw`(?<comment>\/\/[^\n]*|\/\*[\s\S]*?\*\/)`,
    String.raw`b?r(?<fence>#*)"[\s\S]*?"\k<fence>`,
    String.raw`"(?:[^"\\]|\\[\s\S])*"`,
    String.raw`'(?:[^'\\\n]|\\[^\n])*'(?!\w)`,
    '`(?:[^`\\\\]|\\\\[\\s\\S])*`',
    // A regular expression of JavaScript, which may hold quotes.
    String.raw`(?<=[=(,:[!&|?{};]\s*)\/(?![*\/])(?:[^\/\\\n[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/`,
  ].join('|'),
  'g',
)

/** The lines of a source's comments, doc comments included, without their markers; empty ones are left out. */
export function commentLines(source) {
  return [...source.matchAll(TOKEN)]
    .flatMap(({ groups }) => (groups?.comment ?? '').split('\n'))
    .map((line) => line.replace(/^\s*(?:\/\/[/!]?|\/\*[*!]?|\*(?!\/))?|\*\/\s*$/g, '').trim())
    .filter((line) => line !== '')
}

/** The words that are to be replaced, each as often as it is there; a phrase may be spread over two lines. */
export function countWords(lines) {
  return [...lines.join('\n').matchAll(PATTERN)].map(([word]) => word.toLowerCase().replace(/\s+/g, ' '))
}

/** How many there are for each 1,000 lines of comments. */
export function rateOf(files) {
  const lines = files.reduce((sum, file) => sum + file.lines, 0)
  const words = files.reduce((sum, file) => sum + file.words.length, 0)
  return lines === 0 ? 0 : (words / lines) * 1000
}
