// The records of the history storms: each contains its writer and its number, and can be distinguished from a part of
// it or a mixture with others.
import { createHash } from 'node:crypto'

const TOOL = 'storm'
/** What a line holds beside the text: names of keys, the id, the time, the checksum. */
const FRAME_BYTES = 240

const sumOf = (text) => createHash('sha256').update(text).digest('hex').slice(0, 32)

/** The record `number` of a writer, about `bytes` long as a line. */
export function makeRecord(writer, number, bytes) {
  const pattern = `${writer}:${number};`
  const text = pattern.repeat(Math.max(1, Math.round((bytes - FRAME_BYTES) / pattern.length)))
  return { toolName: TOOL, params: { writer, number }, result: { text, sum: sumOf(text) } }
}

/** Who wrote a record, and as which; throws when it is not whole. */
export function checkRecord({ params, result }) {
  const { writer, number } = params
  if (!result.text.startsWith(`${writer}:${number};`) || result.sum !== sumOf(result.text)) {
    throw new Error(`record ${number} of ${writer} is not whole`)
  }
  return { writer, number }
}
