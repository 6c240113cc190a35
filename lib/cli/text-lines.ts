/** The lines of a stream. Those of Node's `readline` end at U+2028 and U+2029 as well, which JSON strings may contain. */

/** Without their line ends: `\n` or `\r\n`. */
export async function* textLines(input: AsyncIterable<Uint8Array | string>): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  let rest: string[] = []
  for await (const chunk of input) {
    const [first = '', ...others] = (typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true })).split(
      '\n',
    )
    rest.push(first)
    for (const next of others) {
      yield withoutReturn(rest.join(''))
      rest = [next]
    }
  }
  const last = rest.join('') + decoder.decode()
  if (last !== '') {
    yield withoutReturn(last)
  }
}

const withoutReturn = (line: string): string => (line.endsWith('\r') ? line.slice(0, -1) : line)
