/** The conformance suite of MCP: what a server passes, it passes with the wrap. */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'

const SUITE = 'node_modules/@modelcontextprotocol/conformance/dist/index.js'
const SCENARIOS = [
  'server-initialize',
  'ping',
  'tools-list',
  'tools-call-simple-text',
  'tools-call-image',
  'tools-call-audio',
  'tools-call-embedded-resource',
  'tools-call-mixed-content',
  'tools-call-error',
]
const SLOW = 300_000

/** Which scenarios of the suite a server passes. */
async function passedBy(kind: 'plain' | 'wrapped'): Promise<string[]> {
  const server = spawn(process.execPath, ['support/conformance-server.ts', kind], {
    cwd: import.meta.dirname,
    env: { ...process.env, NODE_NO_WARNINGS: '1' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(server, 'exit')
  try {
    const [url] = (await once(createInterface(server.stdout), 'line')) as [string]
    const suite = spawn(process.execPath, [SUITE, 'server', '--url', url], {
      cwd: import.meta.dirname,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const output = await text(suite.stdout)
    return [...output.matchAll(/^✓ ([\w-]+): (\d+) passed, 0 failed/gm)].flatMap(([, name = '', passed]) =>
      passed === '0' ? [] : [name],
    )
  } finally {
    server.kill('SIGTERM')
    await ended
  }
}

test(
  'a wrapped server passes the scenarios that it passes without the wrap',
  async () => {
    const [plain, wrapped] = await Promise.all([passedBy('plain'), passedBy('wrapped')])
    expect(wrapped).toEqual(plain)
    expect(plain).toEqual(expect.arrayContaining(SCENARIOS))
    console.log(`MCP conformance: ${plain.length} scenarios pass with and without the wrap`)
  },
  SLOW,
)
