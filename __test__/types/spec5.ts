/**
 * Type test: specification 5 in TypeScript. Compiled by `tsc --noEmit`, never run.
 */

import {
  type BranchScope,
  type ContextPackOptions,
  type Convention,
  type ConventionInput,
  DEFAULT_REPO_MEMORY_ROOT,
  type Decision,
  type DecisionInput,
  type MigrateReport,
  type Note,
  type NoteInput,
  type NoteSource,
  type RecordKind,
  type RedactionOptions,
  type RepoHashOptions,
  type RepoMap,
  type RepoMapFocus,
  type RepoMapOptions,
  type RepoMapProgress,
  RepoMemory,
  type RepoMemoryContents,
  type RepoMemoryLocation,
  type RepoMemoryMigration,
  type RepoMemoryOptions,
  type StepSummary,
  type Summary,
  type SymbolKind,
  type SymbolSummary,
  summariseStep,
  type Workflow,
  type WorkflowStep,
  type WorkflowStepOptions,
} from '../../dist/index.js'

/** The specification's data model, word for word. */
interface SpecifiedConvention {
  id: string
  title: string
  content: string
  tags: string[]
  createdAt: string
  updatedAt: string
}
interface SpecifiedDecision {
  id: string
  summary: string
  rationale: string
  impactedPaths: string[]
  createdAt: string
}
interface SpecifiedNote {
  id: string
  content: string
  source: 'manual' | 'agent' | 'tool'
  createdAt: string
}

/** The design's own types, word for word. */
interface DesignedSummary {
  runId: string
  stepId: string
  timestamp: string
  summary: string
  tags?: string[]
  /** Added to the design later. */
  operationId?: string
}
interface DesignedMemory {
  readonly repoHash: string
  getRepoMemory(): Promise<{
    conventions: SpecifiedConvention[]
    decisions: SpecifiedDecision[]
    notes: SpecifiedNote[]
    summaries: DesignedSummary[]
  }>
  upsertConvention(input: { title: string; content: string; tags?: string[] }): Promise<SpecifiedConvention>
  upsertDecision(input: { id?: string; summary: string }): Promise<SpecifiedDecision>
  upsertNote(input: { content: string; source?: 'manual' | 'agent' | 'tool' }): Promise<SpecifiedNote>
  remove(kind: 'convention' | 'decision' | 'note', id: string): Promise<boolean>
  appendSummary(runId: string, stepId: string, summaryText: string, tags?: string[]): Promise<DesignedSummary>
  buildContextFromMemory(maxChars: number, options?: { query?: string; latestSummaries?: number }): Promise<string>
  repoMap(options?: { maxChars?: number; focus?: string[] }): Promise<{
    text: string
    files: { path: string; symbols: SymbolSummary[] }[]
  }>
  symbols(path: string): Promise<SymbolSummary[]>
}
interface DesignedStatics {
  open(options: {
    workspace: string
    root?: string
    branchScope?: 'perBranch' | 'sharedRepo'
    redaction?: false | RedactionOptions
    durability?: 'process' | 'full'
  }): Promise<DesignedMemory>
  open(options: { repoHash: string; root?: string }): Promise<DesignedMemory>
  repoHash(workspace: string, options?: { branchScope?: 'perBranch' | 'sharedRepo' }): Promise<string>
}

/** The specification's flow: open, remember, run a workflow, build a context. */
export async function flow(): Promise<string> {
  const scope: BranchScope = 'sharedRepo'
  const options: RepoMemoryOptions = {
    root: DEFAULT_REPO_MEMORY_ROOT,
    branchScope: scope,
    durability: 'full',
    lockTimeout: 500,
    maxSummaries: 50,
    maxSummaryBytes: Number.POSITIVE_INFINITY,
    redaction: { keys: ['wombat'] },
    onDebug: (message, data) => console.log(message, data),
  }
  const location: RepoMemoryLocation = Math.random() > 0.5 ? { workspace: '.' } : { repoHash: 'a'.repeat(64) }
  await using memory = await RepoMemory.open({ ...location, ...options })
  const hashing: RepoHashOptions = { branchScope: 'perBranch' }
  const hash: string = await RepoMemory.repoHash('.', hashing)
  await RepoMemory.open({ workspace: '.', redaction: false })
  const place: (string | undefined)[] = [memory.repoHash, memory.directory, memory.workspace, hash]

  const convention: ConventionInput = { title: 'Tests', content: 'node:test', tags: ['a'] as const }
  const { id }: Convention = await memory.upsertConvention(convention)
  await memory.upsertConvention({ id, tags: [] })
  const decision: DecisionInput = { summary: 'Rust', rationale: 'fast', impactedPaths: ['src/'] }
  const decided: Decision = await memory.upsertDecision(decision)
  const source: NoteSource = 'agent'
  const note: NoteInput = { content: 'CI is slow', source }
  const noted: Note = await memory.upsertNote(note)
  const kind: RecordKind = 'note'
  const isGone: boolean = await memory.remove(kind, noted.id)
  const contents: RepoMemoryContents = await memory.getRepoMemory()
  const latest: Summary | undefined = contents.summaries.at(-1)
  const tags: string[] | undefined = latest?.tags
  await memory.appendSummary('run', 'step', 'text', null)

  const { signal } = new AbortController()
  const pack: ContextPackOptions = {
    query: 'login',
    latestSummaries: 5,
    repoMap: { focus: ['src/login.ts'] },
    maxTokens: 2000,
    countTokens: (text) => text.length / 4,
    signal,
  }
  const context: string = await memory.buildContextFromMemory(8000, pack)
  await memory.buildContextFromMemory(Number.POSITIVE_INFINITY, { repoMap: false })

  const focus: RepoMapFocus = { focus: ['src'] }
  const mapping: RepoMapOptions = {
    ...focus,
    maxChars: 4000,
    onProgress: ({ done, total, parsed }: RepoMapProgress) => console.log(done / total, parsed),
    signal,
  }
  const map: RepoMap = await memory.repoMap(mapping)
  const symbols: SymbolSummary[] = await memory.symbols(map.files[0]?.path ?? '', { signal })
  const kinds: SymbolKind[] = symbols.map((symbol) => symbol.kind)
  const containers: (string | undefined)[] = symbols.map(({ container }) => container)

  const workflow: Workflow = memory.workflow('run-1')
  const stepping: WorkflowStepOptions<{ rows: number }> = { summarise: ({ rows }) => `${rows} rows`, tags: ['rows'] }
  const { rows } = await workflow.step('count', () => ({ rows: 3 }), stepping)
  const text: string = await workflow.step('build', async ({ runId, stepId, context }: WorkflowStep) =>
    [runId, stepId, await context(4000, pack)].join(),
  )
  const happened: StepSummary = { happened: 'built', outputs: { rows }, followUps: ['test'] }
  await workflow.step('sum', () => happened, { summarise: async (step) => ({ ...step, outputs: ['a'] }) })
  await workflow.step('nothing', () => {}, null)
  const markdown: string = summariseStep(happened)

  const moving: RepoMemoryMigration = { fromWorkspace: '/before', workspace: '.', root: '/memories' }
  const report: MigrateReport = await RepoMemory.migrate(moving)
  await RepoMemory.migrate({ fromRepoHash: hash, workspace: '.', branchScope: scope, redaction: false })
  const counts: number[] = report.moved.map(({ conventions, summaries }) => conventions + summaries)
  await memory.close()
  return [place, decided, isGone, tags, context, kinds, containers, text, markdown, counts].join()
}

export const asDesigned = (memory: RepoMemory): DesignedMemory => memory
export const asDesignedClass: DesignedStatics = RepoMemory

export function wrong(memory: RepoMemory, workflow: Workflow): void {
  // @ts-expect-error it is opened
  new RepoMemory({ workspace: '.' })
  // @ts-expect-error a repository has to be named
  void RepoMemory.open({ root: '/memories' })
  // @ts-expect-error by one of the two
  void RepoMemory.open({ workspace: '.', repoHash: 'a'.repeat(64) })
  // @ts-expect-error there is no such option
  void RepoMemory.open({ workspace: '.', path: '/tmp' })
  // @ts-expect-error 'perBranch' or 'sharedRepo'
  void RepoMemory.open({ workspace: '.', branchScope: 'branch' })
  // @ts-expect-error a folder has to be named
  void RepoMemory.repoHash()
  // @ts-expect-error from where has to be said
  void RepoMemory.migrate({ workspace: '.' })
  // @ts-expect-error by one of the two
  void RepoMemory.migrate({ workspace: '.', fromWorkspace: '/before', fromRepoHash: 'a'.repeat(64) })
  // @ts-expect-error tags are an array
  void memory.upsertConvention({ title: 't', content: 'c', tags: 'a' })
  // @ts-expect-error there is no such member
  void memory.upsertDecision({ title: 't' })
  // @ts-expect-error there is no such source
  void memory.upsertNote({ content: 'c', source: 'model' })
  // @ts-expect-error summaries are not removed one by one
  void memory.remove('summary', 'id')
  // @ts-expect-error a summary has a text
  void memory.appendSummary('run', 'step')
  // @ts-expect-error a budget has to be given
  void memory.buildContextFromMemory()
  // @ts-expect-error tokens are counted at once
  void memory.buildContextFromMemory(1, { maxTokens: 1, countTokens: async () => 1 })
  // @ts-expect-error a map's focus is an array
  void memory.repoMap({ focus: 'src' })
  // @ts-expect-error a file has to be named
  void memory.symbols()
  // @ts-expect-error a step does something
  void workflow.step('plan')
  // @ts-expect-error a summary is a text or a step's summary
  void workflow.step('plan', () => 5, { summarise: (value) => value })
  // @ts-expect-error what a step returns is known
  void workflow.step('plan', () => 5).then((value: string) => value)
  // @ts-expect-error it says what happened
  summariseStep({ outputs: [] })
  // @ts-expect-error read only
  memory.repoHash = 'another'
  // @ts-expect-error read only
  workflow.runId = 'another'
}

// No `any` leaks.

type IsAny<T> = 0 extends 1 & T ? true : false
type IsExactly<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
type Holds<T extends true> = T
type HasNoAny<T> = true extends { [Key in keyof T]-?: IsAny<T[Key]> }[keyof T] ? false : true
type Results = {
  [Key in keyof RepoMemory]: RepoMemory[Key] extends (...parameters: never) => infer R ? Awaited<R> : RepoMemory[Key]
}

export type Checks = [
  Holds<HasNoAny<Results>>,
  Holds<HasNoAny<RepoMemoryOptions>>,
  Holds<HasNoAny<RepoMemoryContents>>,
  Holds<HasNoAny<Convention>>,
  Holds<HasNoAny<Decision>>,
  Holds<HasNoAny<Note>>,
  Holds<HasNoAny<Summary>>,
  Holds<HasNoAny<ContextPackOptions>>,
  Holds<HasNoAny<RepoMap>>,
  Holds<HasNoAny<RepoMapOptions>>,
  Holds<HasNoAny<SymbolSummary>>,
  Holds<HasNoAny<StepSummary>>,
  Holds<HasNoAny<Workflow>>,
  Holds<HasNoAny<WorkflowStep>>,
  Holds<HasNoAny<MigrateReport>>,
  Holds<IsExactly<ReturnType<RepoMemory['getRepoMemory']>, Promise<RepoMemoryContents>>>,
  Holds<IsExactly<ReturnType<RepoMemory['remove']>, Promise<boolean>>>,
  Holds<IsExactly<ReturnType<RepoMemory['repoMap']>, Promise<RepoMap>>>,
  Holds<IsExactly<ReturnType<RepoMemory['symbols']>, Promise<SymbolSummary[]>>>,
  Holds<IsExactly<ReturnType<RepoMemory['workflow']>, Workflow>>,
  Holds<IsExactly<RepoMemory['workspace'], string | undefined>>,
  Holds<IsExactly<Convention, SpecifiedConvention>>,
  Holds<IsExactly<Summary, DesignedSummary>>,
]
