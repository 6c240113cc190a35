/** Registers the cases of a contract as tests. */

import { test as nodeTest } from 'node:test'
import { checkFilled, checkFunction, optional } from '../arguments/checks.ts'
import { knownOptions, type Names } from '../arguments/known-options.ts'

/** Registers a test: `test` of `node:test`, or that of another runner. */
export type RegisterTest = (name: string, run: () => Promise<void>) => unknown

/** Options of a contract: how the tested object is created. */
export interface ContractOptions<Subject> {
  /** The prefix of each test's name. */
  name: string
  /** Creates an empty object for each test. */
  create(): Subject | Promise<Subject>
  /** Creates another object with the same data, as another process would. Without it, the tests of persistence are skipped. */
  reopen?: ((subject: Subject) => Subject | Promise<Subject>) | null | undefined
  /** Called after each test with every object that `create` and `reopen` returned. */
  destroy?: ((subject: Subject) => unknown) | null | undefined
  /**
   * The function that registers a test.
   * @default `test` of `node:test`
   */
  test?: RegisterTest | null | undefined
}

/** A test case. */
export type Case<Subject> = (subject: Subject) => Promise<void>
export type ReopenCase<Subject> = (subject: Subject, reopen: () => Promise<Subject>) => Promise<void>

export interface Cases<Subject> {
  readonly alone: Readonly<Record<string, Case<Subject>>>
  /** The cases that require `reopen`. */
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
