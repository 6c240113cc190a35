/** One directory for each workspace, outside of it: hooks write there, the server reads there. */

import { homedir } from 'node:os'
import { join } from 'node:path'

export interface ProjectPlaces {
  /** Directory of the outputs. */
  readonly contexts: string
  readonly history: string
  readonly state: string
  /** What hooks report. */
  readonly log: string
}

export const projectsDirectory = (): string => join(homedir(), '.agent', 'projects')

/** `~/.agent/projects/<repoHash>/`: the same directory for all branches of a repository. */
export async function projectPlaces(workspace: string): Promise<ProjectPlaces> {
  const { RepoMemory } = await import('../index.ts')
  const folder = join(projectsDirectory(), await RepoMemory.repoHash(workspace, { branchScope: 'sharedRepo' }))
  return { contexts: join(folder, 'contexts'), ...besideContexts(folder) }
}

/** With `--dir`, everything is in that directory: files that are no outputs are left untouched there. */
export function placesInDirectory(directory: string): ProjectPlaces {
  return { contexts: directory, ...besideContexts(directory) }
}

function besideContexts(folder: string): Omit<ProjectPlaces, 'contexts'> {
  return { history: join(folder, 'history.jsonl'), state: join(folder, 'state.db'), log: join(folder, 'hook.log') }
}
