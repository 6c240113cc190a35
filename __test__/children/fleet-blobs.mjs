// Loads an output with the bucket's credentials from the environment, and prints its length, or the error.
import process from 'node:process'
import { ContextManager } from '../../dist/index.js'

const [storage, blobs, contextDir, saved] = process.argv.slice(2)
const manager = new ContextManager({ storage, blobs: JSON.parse(blobs), contextDir })
try {
  console.log((await manager.loadContext(saved)).result.length)
} catch (error) {
  console.log(error.code, error.message)
}
await manager.close()
