/**
 * Redacts a stream in bounded memory. A text of up to `WHOLE` characters is redacted at once. A longer one is taken apart where
 * its surroundings show that no secret spans the cut: redacting both sides together and each by itself gives the same text.
 */

import { decodeBytes, encodeText } from './lossless-utf8.ts'

/** Up to this length, in UTF-16 code units, a text is redacted in one call. */
const WHOLE = 4 * 1024 * 1024
const PIECE = 2 * 1024 * 1024
/** How much of both sides of a cut is compared: more than the longest secret, a private key of 64 KiB. */
const SURROUNDINGS = 72 * 1024
/** The number of cuts that are tried before the text is cut at any place. */
const MOST_CUTS = 32
/** A part of a text is not JSON only because it happens to be a whole value: a line before it says so. */
const GUARD = 'x\n'

type Redact = (text: string) => string

/** @param probe as `redact`, for texts that are not part of the result */
export async function* redactStream(
  chunks: AsyncIterable<Uint8Array>,
  redact: Redact,
  probe: Redact,
): AsyncGenerator<Uint8Array> {
  let text = ''
  let isFirst = true
  for await (const part of wholeCharacters(chunks)) {
    text += part
    while (text.length > WHOLE) {
      isFirst = false
      const end = findCut(text, probe)
      yield encodeText(guarded(redact, text.slice(0, end)))
      text = text.slice(end)
    }
  }
  if (text !== '') {
    yield encodeText(isFirst ? redact(text) : guarded(redact, text))
  }
}

function guarded(redact: Redact, text: string): string {
  return redact(GUARD + text).slice(GUARD.length)
}

/** Where to cut a text that is longer than `WHOLE`: behind a line, best behind an empty one. */
function findCut(text: string, probe: Redact): number {
  let latest = PIECE
  for (let attempt = 0; attempt < MOST_CUTS; attempt++) {
    const lineEnd = text.lastIndexOf('\n', latest) + 1
    const isNear = lineEnd > PIECE / 2
    const end = isNear ? lineEnd : characterStart(text, latest)
    const left = text.slice(end - SURROUNDINGS, end)
    const right = text.slice(end, end + SURROUNDINGS)
    if (guarded(probe, left + right) === guarded(probe, left) + guarded(probe, right)) {
      return end
    }
    // Larger steps over what spans many lines.
    latest = end - 2 - attempt * 1024
  }
  return characterStart(text, PIECE)
}

function characterStart(text: string, place: number): number {
  const unit = text.charCodeAt(place)
  return unit >= 0xdc00 && unit <= 0xdfff ? place - 1 : place
}

/** Bytes of which no character continues in the next chunk, as text. */
async function* wholeCharacters(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  let rest = new Uint8Array(0)
  for await (const chunk of chunks) {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    const end = bytes.length - unfinishedLength(bytes)
    yield decodeBytes(bytes.subarray(0, end))
    rest = bytes.slice(end)
  }
  if (rest.length > 0) {
    yield decodeBytes(rest)
  }
}

/** How many of the last bytes begin a character that is not whole. */
function unfinishedLength(bytes: Uint8Array): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0
    if (byte >= 0xc0) {
      const needed = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2
      return needed > back ? back : 0
    }
    if (byte < 0x80) {
      return 0
    }
  }
  return 0
}
