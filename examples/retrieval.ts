/**
 * Finds one line in two hundred outputs with the tools for models, without loading the outputs, and without a model or a network.
 *
 *   npm run example:retrieval
 */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
// In your project: import { ContextManager, contextTools } from 'agent-context'
import { ContextManager, contextTools } from '../dist/index.js'

const SERVICES = ['billing', 'catalogue', 'checkout', 'search', 'sessions']
const LINES = 400

/** The log of a service on one day. One of the logs contains the line to find. */
function log(service: string, day: number): string {
  const lines = Array.from({ length: LINES }, (_, line) => `10:00:${line} ${service} handled request ${day}-${line}`)
  if (service === 'checkout' && day === 17) {
    lines[217] = '10:03:37 checkout PaymentDeclined: card issuer timed out after 30 s (order 4711)'
  }
  return lines.join('\n')
}

async function main(): Promise<void> {
  const contextDir = await mkdtemp(join(tmpdir(), 'agent-context-retrieval-'))
  try {
    await using manager = new ContextManager({ contextDir })
    await investigate(manager)
  } finally {
    await rm(contextDir, { recursive: true })
  }
}

async function investigate(manager: ContextManager): Promise<void> {
  let bytes = 0
  let shown = 0
  for (let day = 1; day <= 40; day++) {
    for (const service of SERVICES) {
      const output = log(service, day)
      const { text } = await manager.offload('read_log', { service, day }, output)
      bytes += output.length
      shown += text.length
    }
  }
  console.log(`Stored     ${manager.size} outputs, ${bytes} bytes; ${shown} of them stand in the conversation`)

  const [best] = await manager.selectContexts('Why was the payment for order 4711 declined?', {
    limit: 1,
    explain: true,
  })
  console.log(`Selected   ${best?.toolDescription} (${best?.explain?.map(({ term }) => term).join(', ')})`)

  const [hit] = await manager.search('"timed out" after:2020-01-01 tool:read_log')
  const [snippet] = hit?.snippets ?? []
  console.log(
    `Searched   line ${snippet?.line}: ${snippet?.text.split('\n').find((line) => line.includes('timed out'))}`,
  )

  const { text } = await manager.readContext(hit?.filepath ?? '', { grep: { pattern: 'declined', ignoreCase: true } })
  console.log(`Read       ${text}`)

  const { found } = await manager.grepContexts(/PaymentDeclined/, { filter: { toolName: 'read_log' }, before: 1 })
  console.log(`Grepped    ${found.map(({ lines }) => `line ${lines[0]?.line} after "${lines[0]?.before[0]}"`).join()}`)

  // The tools that a model is offered; its calls are passed to `execute`.
  for (const tool of contextTools(manager)) {
    console.log(`Tool       ${tool.name}: ${tool.description.split('.')[0]}`)
  }
}

await main()
