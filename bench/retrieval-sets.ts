/** Labelled sets on disk: a folder each, with `corpus.jsonl`, `queries.jsonl`, `qrels.tsv` and `meta.json`. */

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'

interface Stored {
  readonly id: string
  /** A store of its own: a query is answered inside its group. */
  readonly group: string
  /** The place in the order of saving. */
  readonly seq: number
  readonly session?: string | number
}

/** A tool call; some sets have no results. */
export interface ToolCall extends Stored {
  readonly toolName: string
  readonly toolDescription: string
  readonly args: Record<string, unknown>
  readonly result?: unknown
}

/** The text of a turn of a conversation. */
export interface Turn extends Stored {
  readonly speaker: string
  readonly timestamp: string
  readonly text: string
  /** Of a picture that was shown with it. */
  readonly caption?: string
}

export interface Text extends Stored {
  readonly title?: string
  readonly text: string
}

export type Row = ToolCall | Turn | Text

export const isToolCall = (row: Row): row is ToolCall => 'toolName' in row
export const isTurn = (row: Row): row is Turn => 'speaker' in row

/** What a system is asked: no labels. */
export interface Question {
  readonly query: string
  /** Rows from this `seq` on are not there yet. */
  readonly beforeSeq?: number
}

/** A query with what the judges said of it. */
export interface JudgedQuery extends Question {
  readonly id: string
  readonly group: string
  /** The grades of the relevant rows, by their ids. */
  readonly grades: ReadonlyMap<string, number>
  /** Values used later, each with the rows that hold it. */
  readonly values?: Readonly<Record<string, readonly string[]>>
}

/** Rows that are stored together, in the order of saving, and the queries to them. */
export interface Group {
  readonly rows: readonly Row[]
  readonly queries: readonly JudgedQuery[]
}

export interface LabelledSet {
  readonly name: string
  /** The least grade that counts for recall and for the reciprocal rank. */
  readonly leastGrade: number
  /** Those with queries. */
  readonly groups: readonly Group[]
}

const QRELS = 'qrels.tsv'
const QRELS_HEAD = 1 // lines

/** The folders of sets: `folder` itself, or the folders in it, by name. */
export function findSets(folder: string): string[] {
  if (existsSync(join(folder, QRELS))) {
    return [folder]
  }
  const names = readdirSync(folder).sort()
  return names.map((name) => join(folder, name)).filter((path) => existsSync(join(path, QRELS)))
}

export function readSet(folder: string): LabelledSet {
  const rows = readLines(join(folder, 'corpus.jsonl')).map((line) => JSON.parse(line) as Row)
  const queries = readLines(join(folder, 'queries.jsonl')).map((line) => JSON.parse(line) as JudgedQuery)
  const { relThreshold } = JSON.parse(readFileSync(join(folder, 'meta.json'), 'utf8')) as { relThreshold: number }
  const grades = readGrades(join(folder, QRELS))
  const queriesOf = byGroup(queries.map((query) => ({ ...query, grades: grades.get(query.id) ?? new Map() })))
  const groups: Group[] = []
  for (const [name, members] of byGroup<Row>(rows)) {
    const asked = queriesOf.get(name)
    if (asked !== undefined) {
      groups.push({ rows: members.toSorted((one, other) => one.seq - other.seq), queries: asked })
    }
  }
  return { name: basename(folder), leastGrade: relThreshold, groups }
}

function byGroup<Member extends { readonly group: string }>(members: readonly Member[]): Map<string, Member[]> {
  const groups = new Map<string, Member[]>()
  for (const member of members) {
    const others = groups.get(member.group)
    if (others === undefined) {
      groups.set(member.group, [member])
    } else {
      others.push(member)
    }
  }
  return groups
}

function readGrades(path: string): Map<string, Map<string, number>> {
  const grades = new Map<string, Map<string, number>>()
  for (const line of readLines(path).slice(QRELS_HEAD)) {
    const [query = '', row = '', grade] = line.split('\t')
    const ofQuery = grades.get(query) ?? new Map<string, number>()
    grades.set(query, ofQuery.set(row, Number(grade)))
  }
  return grades
}

function readLines(path: string): string[] {
  return readFileSync(path, 'utf8').trim().split('\n')
}
