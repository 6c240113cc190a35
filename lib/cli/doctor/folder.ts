/** A directory: owner, permissions, kind of file system, space. */

import { stat, statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { formatBytes } from '../output/units.ts'
import { shortPath } from '../places.ts'
import type { Check } from './check.ts'

const LITTLE_SPACE = 100 * 1024 * 1024
const NO_SPACE = 1024 * 1024
const OTHERS = 0o077

/** By the numbers that Linux gives them. */
const FILE_SYSTEMS: ReadonlyMap<number, readonly [name: string, isTrusted: boolean]> = new Map([
  [0x6969, ['NFS', false]],
  [0x517b, ['SMB', false]],
  [0xff534d42, ['CIFS', false]],
  [0xfe534d42, ['SMB', false]],
  [0x65735546, ['FUSE', false]],
  [0x01021997, ['9p', false]],
  [0xef53, ['ext4', true]],
  [0x58465342, ['XFS', true]],
  [0x9123683e, ['Btrfs', true]],
  [0x01021994, ['tmpfs', true]],
  [0x794c7630, ['overlay', true]],
  [0x2fc12fc1, ['ZFS', true]],
])

/** `undefined` in place of a path that is not there yet. */
export async function checkFolder(name: string, path: string): Promise<Check[]> {
  const there = await stat(path).catch(() => undefined)
  const checks: Check[] = []
  if (there?.isDirectory() === true) {
    checks.push(...ownership(name, path, there))
  }
  const existing = await nearestExisting(path)
  const space = await statfs(existing).catch(() => undefined)
  if (space !== undefined) {
    checks.push(...kindOf(name, existing, space.type), ...spaceOf(name, space.bavail * space.bsize))
  }
  return checks
}

export async function nearestExisting(path: string): Promise<string> {
  for (let place = path; ; place = dirname(place)) {
    if (place === dirname(place) || (await stat(place).catch(() => undefined)) !== undefined) {
      return place
    }
  }
}

function ownership(name: string, path: string, { uid, mode }: { uid: number; mode: number }): Check[] {
  const user = process.getuid?.()
  if (user === undefined) {
    return []
  }
  if (uid !== user && uid !== 0) {
    return [
      {
        name,
        status: user === 0 ? 'warning' : 'error',
        message: `${shortPath(path)} belongs to another user (${uid}), who can read and replace what is stored there`,
        remedy: `run as its owner, choose another place, or take it over: chown -R ${user} '${path}'`,
      },
    ]
  }
  if ((mode & OTHERS) !== 0) {
    return [
      {
        name,
        status: 'warning',
        message: `${shortPath(path)} is open to other users (mode ${(mode & 0o777).toString(8)})`,
        remedy: `chmod 700 '${path}'`,
      },
    ]
  }
  return []
}

function kindOf(name: string, path: string, type: number): Check[] {
  const [kind, isTrusted] = FILE_SYSTEMS.get(type) ?? ['', true]
  return isTrusted
    ? []
    : [
        {
          name,
          status: 'warning',
          message: `${shortPath(path)} is on ${kind}, whose locks may not bind every process`,
          remedy: 'choose a local disk, or see docs/durability.md on trustLocks',
        },
      ]
}

function spaceOf(name: string, bytes: number): Check[] {
  return bytes >= LITTLE_SPACE
    ? []
    : [
        {
          name,
          status: bytes < NO_SPACE ? 'error' : 'warning',
          message: bytes < NO_SPACE ? 'the disk is full' : `only ${formatBytes(bytes)} are free`,
          remedy: 'free some space; agent-context disk says what is stored, agent-context forget removes',
        },
      ]
}
