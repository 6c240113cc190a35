/** What takes secrets out of a text: this package, and what a user would pick instead. */

import { type RedactionOptions, redact } from '../dist/index.js'
import type { Peers } from './peer-packages.ts'
import type { Redact } from './redaction-cases.ts'
import { redactByPlainList } from './redaction-plain-list.ts'
import { OURS } from './save-contenders.ts'

export interface RedactionContender {
  readonly name: string
  readonly redact: Redact
}

/** What this machine's environment holds must not count. */
export const RULES_ALONE: RedactionOptions = { environment: false }
export const SECRETLINT = 'secretlint, recommended preset'
export const PLAIN_LIST = 'nine expressions and variables'

/** As its documentation shows it for programs: it reports the positions of secrets, which are then removed here. */
function secretlint(peers: Peers): RedactionContender[] {
  const core = peers.get('@secretlint/core')
  const preset = peers.get('@secretlint/secretlint-rule-preset-recommend')
  if (core === undefined || preset === undefined) {
    return []
  }
  const config = { rules: [{ id: '@secretlint/secretlint-rule-preset-recommend', rule: preset.creator }] }
  const redact = async (content: string): Promise<string> => {
    const source = { content, filePath: '/output.txt', ext: '.txt', contentType: 'text' as const }
    const { messages } = await core.lintSource({ source, options: { config, noPhysicFilePath: true } })
    let [redacted, at] = ['', 0]
    for (const [start, end] of messages.map(({ range }) => range).sort(([one], [other]) => one - other)) {
      redacted += start < at ? '' : `${content.slice(at, start)}[REDACTED]`
      at = Math.max(at, end)
    }
    return at === 0 ? content : redacted + content.slice(at)
  }
  return [{ name: SECRETLINT, redact }]
}

export function redactionContenders(peers: Peers | undefined): RedactionContender[] {
  return [
    { name: OURS, redact: (text) => redact(text, RULES_ALONE).text },
    ...(peers === undefined ? [] : secretlint(peers)),
    { name: PLAIN_LIST, redact: redactByPlainList },
  ]
}
