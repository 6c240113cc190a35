/** What agents' tools give: search hits, a file's text, text beyond Latin. Distinct, and the same in every run. */

import { Buffer } from 'node:buffer'

export type PayloadKind = 'hits' | 'text' | 'CJK'

export const KIND_NAMES: Readonly<Record<PayloadKind, string>> = {
  hits: 'an array of search hits',
  text: "one file's text",
  CJK: 'CJK and emoji text',
}

/** A tool call with its result: what every contender stores, in its own form. */
export interface ToolRecord {
  readonly toolName: string
  readonly args: Record<string, unknown>
  readonly timestamp: string
  readonly result: unknown
}

const KEYWORDS = ['const', 'return', 'await', 'export', 'function', 'import', 'interface', 'readonly', 'if', 'for']
const NOUNS = ['session', 'token', 'login', 'cache', 'order', 'invoice', 'pointer', 'record', 'query', 'buffer', 'user']
const IDEOGRAPHS = '检索结果包含用户登录会话令牌缓存订单发票指针记录查询缓冲区配置错误文件目录读取写入東京大阪検索結果'
const EMOJI = ['🚀', '✅', '👩‍💻', '🔥', '🇯🇵', '📦']
const BYTES_PER_HIT = 190

/** A small generator (xorshift): benchmarks need variety, not chance. */
export class Variety {
  #state: number

  constructor(seed: number) {
    this.#state = (seed + 1) * 0x9e3779b9
  }

  below(limit: number): number {
    this.#state ^= this.#state << 13
    this.#state ^= this.#state >>> 17
    this.#state ^= this.#state << 5
    return (this.#state >>> 0) % limit
  }

  of<T>(items: ArrayLike<T>): T {
    return items[this.below(items.length)] as T
  }
}

/** About `bytes` of JSON. */
export function makeRecord(kind: PayloadKind, bytes: number, seed: number): ToolRecord {
  const variety = new Variety(seed)
  const path = `src/${variety.of(NOUNS)}/${variety.of(NOUNS)}-${seed}.ts`
  return {
    toolName: kind === 'hits' ? 'search_text' : 'read_file',
    args: kind === 'hits' ? { pattern: variety.of(NOUNS), path: 'src', limit: 200 + seed } : { path },
    timestamp: new Date(1_760_000_000_000 + seed).toISOString(),
    result: makeResult(kind, bytes, variety),
  }
}

function makeResult(kind: PayloadKind, bytes: number, variety: Variety): unknown {
  if (kind === 'hits') {
    const hits = Array.from({ length: Math.max(1, Math.round(bytes / BYTES_PER_HIT)) }, (_, index) => ({
      file: `src/${variety.of(NOUNS)}/${variety.of(NOUNS)}.ts`,
      line: variety.below(2000),
      column: variety.below(80),
      text: codeLine(variety),
      score: variety.below(10_000) / 10_007,
      isDefinition: index % 7 === 0,
      context: null,
    }))
    // As tools get them from a parser. Strings that were just put together are trees inside the engine, which the first
    // to read them flattens at a cost.
    return JSON.parse(JSON.stringify(hits))
  }
  const line = kind === 'text' ? codeLine : ideographLine
  const lines: string[] = []
  for (let size = 0; size < bytes; ) {
    const next = line(variety)
    lines.push(next)
    size += JSON.stringify(next).length * (kind === 'text' ? 1 : 2.8)
  }
  // As a tool reads it from a file: one flat string.
  return Buffer.from(lines.join('\n')).toString()
}

function codeLine(variety: Variety): string {
  const indentation = ' '.repeat(2 * variety.below(5))
  const [a, b, c] = [variety.of(NOUNS), variety.of(NOUNS), variety.of(NOUNS)]
  return `${indentation}${variety.of(KEYWORDS)} ${a}${variety.below(100)} = this.${b}("${c}", ${variety.below(9999)})`
}

function ideographLine(variety: Variety): string {
  const words = Array.from({ length: 24 }, () => variety.of(IDEOGRAPHS))
  return `${words.join('')}「${variety.below(1000)}」${variety.of(EMOJI)}`
}
