/** Bytes as text and back without loss: a byte that is no UTF-8 becomes half of a surrogate pair, as in Python. */

const FIRST = 0xdc00
const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
const encoder = new TextEncoder()
const ESCAPED = /[\udc80-\udcff]/u

export function decodeBytes(bytes: Uint8Array): string {
  try {
    return strict.decode(bytes)
  } catch {
    return decodeMixed(bytes)
  }
}

function decodeMixed(bytes: Uint8Array): string {
  const parts: string[] = []
  let from = 0
  let at = 0
  while (at < bytes.length) {
    const length = characterLength(bytes, at)
    if (length === 0) {
      parts.push(strict.decode(bytes.subarray(from, at)), String.fromCharCode(FIRST + (bytes[at] ?? 0)))
      from = at + 1
    }
    at += Math.max(1, length)
  }
  return parts.join('') + strict.decode(bytes.subarray(from))
}

/** Bytes of the character there; 0 where there is none. */
function characterLength(bytes: Uint8Array, at: number): number {
  const first = bytes[at] ?? 0
  if (first < 0x80) {
    return 1
  }
  const length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 0
  try {
    strict.decode(bytes.subarray(at, at + length))
    return length
  } catch {
    return 0
  }
}

export function encodeText(text: string): Uint8Array {
  if (!ESCAPED.test(text)) {
    return encoder.encode(text)
  }
  const parts = text.split(/([\udc80-\udcff])/u)
  return Buffer.concat(
    parts.map((part) =>
      ESCAPED.test(part) && part.length === 1 ? Uint8Array.of(part.charCodeAt(0) - FIRST) : encoder.encode(part),
    ),
  )
}
