/** Finds the largest text of an output, and replaces it by a placeholder while the output keeps its shape. */

export interface LargestText {
  readonly text: string
  /** The same output with another text there. */
  with(placeholder: string): unknown
}

/** The depth to which texts are searched; deeper parts are not changed. */
const DEEPEST = 6
/** Members with which a client refers to its own copy of a cut output; removed, because the placeholder replaces them. */
const DROPPED = new Set(['persistedOutputPath', 'persistedOutputSize'])

/**
 * The largest text of an output. Blocks of text, as MCP tools give, count as one text: the placeholder becomes the first of them,
 * and blocks of other types stay.
 */
export function largestText(response: unknown, depth = 0): LargestText | undefined {
  if (typeof response === 'string') {
    return { text: response, with: (placeholder) => placeholder }
  }
  if (typeof response !== 'object' || response === null || depth > DEEPEST) {
    return undefined
  }
  if (Array.isArray(response)) {
    return isTextBlocks(response) ? textOfBlocks(response) : largestOf(response, depth, (copy) => copy)
  }
  return largestOf(response, depth, (copy) =>
    Object.fromEntries(Object.entries(copy).filter(([key]) => !DROPPED.has(key))),
  )
}

function largestOf(
  parent: object,
  depth: number,
  finish: (copy: Record<string, unknown> | unknown[]) => unknown,
): LargestText | undefined {
  let found: { key: string; part: LargestText } | undefined
  for (const [key, value] of Object.entries(parent)) {
    const part = largestText(value, depth + 1)
    if (part !== undefined && part.text.length > (found?.part.text.length ?? 0)) {
      found = { key, part }
    }
  }
  if (found === undefined) {
    return undefined
  }
  const { key, part } = found
  return {
    text: part.text,
    with: (placeholder) =>
      finish(
        Array.isArray(parent)
          ? parent.map((item, index) => (String(index) === key ? part.with(placeholder) : (item as unknown)))
          : { ...parent, [key]: part.with(placeholder) },
      ),
  }
}

interface TextBlock {
  readonly type: 'text'
  readonly text: string
}

const isTextBlock = (block: unknown): block is TextBlock =>
  typeof block === 'object' &&
  block !== null &&
  (block as Partial<TextBlock>).type === 'text' &&
  typeof (block as Partial<TextBlock>).text === 'string'

const isTextBlocks = (blocks: readonly unknown[]): boolean => blocks.some(isTextBlock)

function textOfBlocks(blocks: readonly unknown[]): LargestText {
  const texts = blocks.filter(isTextBlock)
  const [first] = texts
  return {
    text: texts.map((block) => block.text).join('\n'),
    with: (placeholder) =>
      blocks.flatMap((block) =>
        block === first ? [{ ...first, text: placeholder }] : isTextBlock(block) ? [] : [block],
      ),
  }
}
