/** One directory for each workspace, outside of it, or one namespace in a database: hooks write there, the server reads there. */

import { homedir } from 'node:os'
import { join } from 'node:path'

export interface ProjectPlaces {
  /** Directory of the outputs. */
  readonly contexts: string
  readonly history: string
  readonly state: string
  /** What hooks report: always a file of this machine. */
  readonly log: string
}

export const projectsDirectory = (): string => join(homedir(), '.agent', 'projects')

/**
 * `~/.agent/projects/<repoHash>/`: the same directory for all branches of a repository. In a database, the same name without `~`:
 * machines share it where the repository has the same remote and the same path, as in containers.
 */
export async function projectPlaces(workspace: string, isInDatabase: boolean): Promise<ProjectPlaces> {
  const { RepoMemory } = await import('../index.ts')
  const hash = await RepoMemory.repoHash(workspace, { branchScope: 'sharedRepo' })
  const folder = join(projectsDirectory(), hash)
  if (isInDatabase) {
    return { ...namespacesIn(`/.agent/projects/${hash}`, 'contexts'), log: join(folder, LOG) }
  }
  return { contexts: join(folder, 'contexts'), ...besideContexts(folder) }
}

/** With `--dir`, everything is in that directory: files that are no outputs are left untouched there. */
export function placesInDirectory(directory: string, isInDatabase: boolean): ProjectPlaces {
  return isInDatabase
    ? { ...namespacesIn(directory, ''), log: join(homedir(), '.agent', LOG) }
    : { contexts: directory, ...besideContexts(directory) }
}

const LOG = 'hook.log'

function besideContexts(folder: string): Omit<ProjectPlaces, 'contexts'> {
  return { history: join(folder, 'history.jsonl'), state: join(folder, 'state.db'), log: join(folder, LOG) }
}

function namespacesIn(namespace: string, contexts: string): Omit<ProjectPlaces, 'log'> {
  return {
    contexts: `${namespace}/${contexts}`,
    history: `${namespace}/history.jsonl`,
    state: `${namespace}/state.db`,
  }
}
