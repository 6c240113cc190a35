// What the loading tests do with the package once they have it.
import { writeSync } from 'node:fs'

export async function use(everything, contextDir) {
  const { ContextManager } = everything
  const manager = new ContextManager({ contextDir })
  const path = await manager.saveContext('tool', { a: 1 }, [1.0, 'two', null])
  const { result } = await manager.loadContext(path)
  await manager.clear()
  const names = Object.keys(everything).filter((name) => name !== 'default' && name !== 'module.exports')
  writeSync(1, `${JSON.stringify({ names: names.sort(), result })}\n`)
}
