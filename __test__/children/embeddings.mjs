// Saves three texts in a store of one class, or searches it with a toy embedding model. Prints as JSON what was found, the texts that were
// embedded, and the messages to `onDebug`. Parameters: class, directory, query ('' to save), model ('' for a function without a name, '-' for
// no embedding).
import { join } from 'node:path'
import { ContextHistory, ContextManager, ContextStore, RepoMemory, StateStore } from '../../dist/index.js'

const TEXTS = ['the automobile is red', 'the login page', 'sunny weather']
const MEANINGS = [/car|automobile/, /login|sign/, /rain|weather/]

const [kind, directory, query, model] = process.argv.slice(2)
const embedded = []
const told = []
const function_ = (texts) => {
  embedded.push(...texts)
  return texts.map((text) => [...MEANINGS.map((meaning) => (meaning.test(text) ? 1 : 0)), 0.1])
}
const onDebug = (message) => told.push(message)

const classes = {
  async select(options) {
    const manager = new ContextManager({ contextDir: directory, sessionId: 's', resume: true, onDebug })
    if (options === undefined) {
      return Promise.all(TEXTS.map((text) => manager.saveContext('tool', {}, text)))
    }
    const found = await manager.selectContexts(query, { ...options, minScore: 0.001 })
    return Promise.all(found.map(async ({ filepath }) => (await manager.loadContext(filepath)).result))
  },
  async search(options) {
    const manager = new ContextManager({ contextDir: directory, sessionId: 's', resume: true, onDebug })
    if (options === undefined) {
      return Promise.all(TEXTS.map((text) => manager.saveContext('tool', {}, text)))
    }
    const found = await manager.search(query, options)
    return Promise.all(found.map(async ({ filepath }) => (await manager.loadContext(filepath)).result))
  },
  async store(options) {
    const store = new ContextStore({ path: directory, agent: 'tester', onDebug })
    if (options === undefined) {
      return Promise.all(TEXTS.map((content) => store.write({ type: 'finding', slug: 'a', content })))
    }
    return (await store.search({ query, ranked: true, ...options })).map(({ content }) => content.trim())
  },
  async history(options) {
    const history = new ContextHistory({ path: join(directory, 'context.jsonl'), onDebug })
    if (options === undefined) {
      return Promise.all(TEXTS.map((result) => history.append({ toolName: 'tool', params: {}, result })))
    }
    return (await history.search({ text: query, ranked: true, ...options })).map(({ result }) => result)
  },
  async state(options) {
    const state = new StateStore({ path: join(directory, 'state.db'), onDebug })
    try {
      if (options === undefined) {
        return await Promise.all(TEXTS.map((text, index) => state.put(['notes'], `n${index}`, { text })))
      }
      return (await state.search(['notes'], query, options)).map(({ value }) => value.text)
    } finally {
      await state.close()
    }
  },
  async memory(options) {
    const memory = await RepoMemory.open({ repoHash: '0'.repeat(64), root: directory, onDebug })
    if (options === undefined) {
      return Promise.all(TEXTS.map((content) => memory.upsertNote({ content, source: 'manual' })))
    }
    // Only the records that come before the others: those that match.
    const { included } = await memory.contextPack(10_000, { query, ...options })
    const { notes } = await memory.getRepoMemory()
    return included.slice(0, 1).map(({ id }) => notes.find((note) => note.id === id).content)
  },
}

const embed = model === '' ? function_ : { model, embed: function_ }
const found = await classes[kind](query === '' ? undefined : model === '-' ? {} : { embed })
console.log(JSON.stringify({ found, embedded, told }))
