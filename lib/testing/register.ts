/** How the cases of a contract become tests. */

import { test as nodeTest } from 'node:test'
import { checkFilled, checkFunction, optional } from '../arguments/checks.ts'
import { knownOptions, type Names } from '../arguments/known-options.ts'

/** Registers a test: `test` of `node:test`, or that of another runner. */
export type RegisterTest = (name: string, run: () => Promise<void>) => unknown

/** What a contract tests. */
export interface ContractOptions<Subject> {
  /** Begins the name of each test. */
  name: string
  /** An empty one, for each test. */
  create(): Subject | Promise<Subject>
  /**
   * Another one with the same data, as another process has it. Without it the tests of that are left out: the data may end with
   * the object.
   */
  reopen?: ((subject: Subject) => Subject | Promise<Subject>) | null | undefined
  /** Called with what `create` and `reopen` gave, after each test. */
  destroy?: ((subject: Subject) => unknown) | null | undefined
  /**
   * What registers the tests.
   * @default `test` of `node:test`
   */
  test?: RegisterTest | null | undefined
}

/** What a case does; `reopen` where the subject can be opened again. */
export type Case<Subject> = (subject: Subject) => Promise<void>
export type ReopenCase<Subject> = (subject: Subject, reopen: () => Promise<Subject>) => Promise<void>

export interface Cases<Subject> {
  readonly alone: Readonly<Record<string, Case<Subject>>>
  /** Those that need `reopen`. */
  readonly reopened: Readonly<Record<string, ReopenCase<Subject>>>
}

const NAMES: Names<ContractOptions<unknown>> = { name: true, create: true, reopen: true, destroy: true, test: true }
const contractOptions = knownOptions<ContractOptions<unknown>>('ContractOptions', NAMES)

export function registerCases<Subject>(given: ContractOptions<Subject>, cases: Cases<Subject>): void {
  contractOptions(given as unknown as ContractOptions<unknown>, 'options')
  const name = checkFilled(given.name, 'name')
  const create = checkFunction(given.create, 'create').bind(given)
  const reopen = optional(given.reopen, 'reopen', checkFunction)
  const destroy = optional(given.destroy, 'destroy', checkFunction)
  const test = optional(given.test, 'test', checkFunction) ?? nodeTest
  const register = (behaviour: string, run: ReopenCase<Subject>): void => {
    test(`${name} ${behaviour}`, async () => {
      const subject = (await create()) as Subject
      const opened = [subject]
      try {
        await run(subject, async () => {
          const again = (await reopen?.(subject)) as Subject
          opened.push(again)
          return again
        })
      } finally {
        for (const one of opened.reverse()) {
          await destroy?.(one)
        }
      }
    })
  }
  for (const [behaviour, run] of Object.entries(cases.alone)) {
    register(behaviour, run)
  }
  for (const [behaviour, run] of reopen === undefined ? [] : Object.entries(cases.reopened)) {
    register(behaviour, run)
  }
}
