/** The command line of `npm run bench`. */

import { tmpdir } from 'node:os'
import { parseArgs } from 'node:util'

export const SECTIONS = [
  'save',
  'load',
  'offload',
  'pointers',
  'growth',
  'open-loop',
  'hostile-saves',
  'history',
  'search',
  'store',
  'repo-map',
] as const
export type Section = (typeof SECTIONS)[number]

export interface Options {
  readonly isQuick: boolean
  readonly only: ReadonlySet<Section>
  readonly json: string | undefined
  readonly markdown: string | undefined
  /** Another build of the package to measure beside this one, in place of the sections. */
  readonly against: string | undefined
  /** Where the files go. */
  readonly directory: string
}

export const USAGE = `npm run bench -- [options]
  --quick           a smoke run of about a minute
  --only LIST       some of ${SECTIONS.join(',')}
  --against DIR     this build beside another, built in a checkout of its own: nothing else runs
  --json FILE       the figures
  --markdown FILE   the tables
  --directory DIR   where files are written (default: ${tmpdir()}); about 2 GB are in use at times`

export function readOptions(parameters: string[]): Options {
  const { values } = parseArgs({
    args: parameters,
    options: {
      quick: { type: 'boolean', default: false },
      only: { type: 'string' },
      json: { type: 'string' },
      against: { type: 'string' },
      markdown: { type: 'string' },
      directory: { type: 'string', default: tmpdir() },
    },
  })
  const only = values.only?.split(',') ?? SECTIONS
  const unknown = only.filter((name) => !(SECTIONS as readonly string[]).includes(name))
  if (unknown.length > 0) {
    throw new Error(`--only knows ${SECTIONS.join(', ')}, not ${unknown.join(', ')}`)
  }
  return {
    isQuick: values.quick,
    only: new Set(only as Section[]),
    json: values.json,
    against: values.against,
    markdown: values.markdown,
    directory: values.directory,
  }
}
