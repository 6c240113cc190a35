/**
 * Glob patterns: `*`, `**`, `?`, `[…]`, `{…,…}` and `\`. Matching takes at most as many steps per character of a path as the
 * pattern has characters.
 */

type CharacterTest = (character: string) => boolean
/** A character, or any number of characters. */
type Token = '*' | CharacterTest
/** A name's tokens, or any number of directories. */
type Segment = '**' | readonly Token[]

/** The largest number of alternatives of a pattern with braces; a pattern with more matches nothing. */
const MAXIMUM_ALTERNATIVES = 1000

/**
 * Compiles a pattern to a test of relative paths.
 *
 * @param dot whether wildcards match names that begin with a dot
 */
export function globOf(pattern: string, { dot }: { dot: boolean }): (path: string) => boolean {
  const alternatives = expand(pattern).map((one) => {
    const parts = one.split('/').filter((part) => part !== '.')
    // A final `**` matches the contents of a directory, not a file with its name.
    const last = parts.at(-1) === '**' ? ['*'] : []
    return [...parts, ...last].map((part): Segment => (part === '**' ? '**' : tokensOf(part)))
  })
  const isName = (segment: readonly Token[], name: string): boolean =>
    (dot || !name.startsWith('.') || isLiteralDot(segment)) && matches(segment, [...name], isCharacter)
  return (path) => {
    const names = path.split('/')
    return alternatives.some((segments) => matches(segments, names, isName))
  }
}

function isCharacter(test: CharacterTest, character: string): boolean {
  return test(character)
}

/** Whether a segment matches a leading dot literally: a wildcard does not match it. */
function isLiteralDot([first]: readonly Token[]): boolean {
  return typeof first === 'function' && LITERALS.has(first)
}

/** Whether items match a pattern; a string in the pattern matches any number of items. */
function matches<P, T>(
  pattern: readonly (P | '*' | '**')[],
  items: readonly T[],
  fits: (one: P, item: T) => boolean,
): boolean {
  let [at, star, resume] = [0, -1, 0]
  for (let index = 0; index < items.length; ) {
    const one = pattern[at]
    if (one === '*' || one === '**') {
      star = at++
      resume = index
    } else if (one !== undefined && fits(one, items[index] as T)) {
      at++
      index++
    } else if (star >= 0) {
      at = star + 1
      index = ++resume
    } else {
      return false
    }
  }
  return pattern.slice(at).every((one) => typeof one === 'string')
}

/** Tests of one certain character. */
const LITERALS = new WeakSet<CharacterTest>()

function literal(wanted: string): Token {
  const test = (character: string) => character === wanted
  LITERALS.add(test)
  return test
}

function tokensOf(part: string): Token[] {
  const tokens: Token[] = []
  const characters = [...part]
  for (let index = 0; index < characters.length; index++) {
    const character = characters[index] as string
    const end = character === '[' ? characters.indexOf(']', index + 2) : -1
    if (character === '*') {
      tokens.push('*')
    } else if (character === '?') {
      tokens.push(() => true)
    } else if (end >= 0) {
      tokens.push(classOf(characters.slice(index + 1, end)))
      index = end
    } else if (character === '\\' && index + 1 < characters.length) {
      tokens.push(literal(characters[++index] as string))
    } else {
      tokens.push(literal(character))
    }
  }
  return tokens
}

/** The characters between brackets. */
function classOf(members: readonly string[]): Token {
  const isNegated = members[0] === '!' || members[0] === '^'
  const ranges: [from: string, to: string][] = []
  for (let index = isNegated ? 1 : 0; index < members.length; index++) {
    const from = members[index] as string
    const to = members[index + 1] === '-' ? members[index + 2] : undefined
    ranges.push([from, to ?? from])
    index += to === undefined ? 0 : 2
  }
  return (character) => ranges.some(([from, to]) => from <= character && character <= to) !== isNegated
}

/** Expands the braces of a pattern. */
function expand(pattern: string): string[] {
  const done: string[] = []
  const open = [pattern]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const brace = firstBrace(next)
    if (brace === undefined) {
      done.push(next)
    } else {
      const { start, end, choices } = brace
      open.push(...choices.map((choice) => next?.slice(0, start) + choice + next?.slice(end + 1)))
    }
    if (open.length + done.length > MAXIMUM_ALTERNATIVES) {
      return []
    }
  }
  return done
}

/** The first braces with a comma between them. */
function firstBrace(pattern: string): { start: number; end: number; choices: string[] } | undefined {
  for (let start = pattern.indexOf('{'); start >= 0; start = pattern.indexOf('{', start + 1)) {
    const choices = ['']
    let depth = 0
    for (let index = start + 1; index < pattern.length; index++) {
      const character = pattern.charAt(index)
      if (character === '}' && depth === 0) {
        if (choices.length > 1) {
          return { start, end: index, choices }
        }
        break
      }
      depth += character === '{' ? 1 : character === '}' ? -1 : 0
      if (character === ',' && depth === 0) {
        choices.push('')
      } else {
        choices.push(`${choices.pop()}${character}`)
      }
    }
  }
  return undefined
}
