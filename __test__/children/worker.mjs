// A worker thread's part. Saves as told, answers, and does what the messages say.
import { parentPort, workerData } from 'node:worker_threads'
import { ContextManager } from '../../dist/index.js'

const { contextDir, sessionId, count, name, endless } = workerData
const manager = new ContextManager({ contextDir, ...(sessionId === undefined ? {} : { sessionId }) })

parentPort.on('message', async (message) => {
  if (message === 'size') {
    parentPort.postMessage({ size: manager.size })
  } else if (message === 'save') {
    parentPort.postMessage({ path: await manager.saveContext('worker_tool', {}, 'later') })
  } else if (message === 'clear') {
    await manager.clear()
    parentPort.postMessage({ cleared: true })
  } else if (message === 'end') {
    // Deno's port has no `close`, its worker has.
    typeof parentPort.close === 'function' ? parentPort.close() : globalThis.close()
  }
})

if (endless) {
  let hasTold = false
  const save = async () => {
    for (let number = 0; ; number++) {
      await manager.saveContext('worker_tool', { number }, 'z'.repeat(3000))
      if (!hasTold) {
        hasTold = true
        parentPort.postMessage({ busy: true })
      }
    }
  }
  await Promise.all(Array.from({ length: 8 }, save))
}

const paths = await Promise.all(
  Array.from({ length: count }, (_, number) => manager.saveContext('worker_tool', { same: true }, { name, number })),
)
parentPort.postMessage({
  paths,
  pointers: manager.getAllPointers().map(({ filepath }) => filepath),
  sessionId: manager.sessionId,
})
