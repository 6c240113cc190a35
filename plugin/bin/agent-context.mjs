// The program of the package that this folder is part of: from a checkout after `npm run build`, or as installed.
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const program = new URL('../../dist/cli/agent-context.js', import.meta.url)
if (existsSync(program)) {
  // A program that looks at its own path sees that of the package.
  process.argv[1] = fileURLToPath(program)
  await import(program.href)
} else if (process.argv[2] === 'hook') {
  process.stdout.write('{}\n')
} else {
  process.stderr.write(
    `agent-context: ${fileURLToPath(program)} is missing. Run 'npm install' in the folder of the package\n`,
  )
  process.exitCode = 5
}
