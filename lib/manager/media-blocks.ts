/** Recognises content blocks that hold an image, audio or a file as base64. */

import type { Leaf, Place, Step } from './value-leaves.ts'

/** Members that hold base64 in the messages of MCP, Anthropic, LangChain, the AI SDK and OpenAI. */
const DATA_KEYS: ReadonlySet<Step> = new Set(['data', 'blob', 'image', 'file_data', 'base64'])
const DATA_URL = /^data:([\w.+-]+\/[\w.+-]+)(?:;[\w=.+-]+)*;base64,/
const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/
/** Data that is shorter than this is not replaced, because the reference would be as long. In characters. */
const LEAST_REFERENCED = 1024
/** How much of a text is checked to recognise base64, in characters. */
const BEGINNING = 65_536

/** Whether a text is base64 data of a block, and not text for a model. */
export function isMediaData({ text, steps }: Leaf): boolean {
  if (text.startsWith('data:') && DATA_URL.test(text.slice(0, 200))) {
    return true
  }
  const key = steps.at(-1)
  return key !== undefined && DATA_KEYS.has(key) && text.length >= 64 && BASE64.test(text.slice(0, BEGINNING).trimEnd())
}

/** A block that can be replaced by a text block. */
export interface MediaBlock {
  /** The steps to the block. */
  readonly steps: readonly Step[]
  /** The type of a text block of the same framework. */
  readonly textType: 'text' | 'input_text'
}

/** Whether data is longer than a reference to it. `length` is the length of its base64 in characters. */
export function isReferenced(length: number): boolean {
  return length >= LEAST_REFERENCED
}

/** The block that contains data; `undefined` if no block does. */
export function blockOf({ steps, around }: Place): MediaBlock | undefined {
  for (let depth = around.length - 1; depth > 0; depth -= 1) {
    const type = (around[depth] as { type?: unknown }).type
    // In Anthropic's blocks, the `source` in the block also has a type.
    if (typeof type === 'string' && Array.isArray(around[depth - 1]) && typeof steps[depth - 1] === 'number') {
      return { steps: steps.slice(0, depth), textType: type.startsWith('input_') ? 'input_text' : 'text' }
    }
  }
  return undefined
}
