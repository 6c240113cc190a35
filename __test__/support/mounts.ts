/** Two mounts of one directory that grant locks independently of each other. */

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { inDirectory, isRoot } from './fixtures.ts'

/** Why there can be no mounts here; `false` where there can. In CI what is needed must be there. */
export const skipMounts: string | false = (() => {
  const hasBindfs = spawnSync('bindfs', ['--version']).status === 0
  if (isRoot && existsSync('/dev/fuse') && hasBindfs) {
    return false
  }
  assert.notEqual(process.env['CI'], 'true', 'CI runs as root, with /dev/fuse and bindfs')
  return 'needs root, /dev/fuse and bindfs (Debian package bindfs)'
})()

/** Runs `work` with a directory and two mounts of it. */
export function onTwoMounts(work: (back: string, first: string, second: string) => Promise<void>): Promise<void> {
  return inDirectory(async (directory) => {
    const back = join(directory, 'back')
    mkdirSync(back)
    const mounts: string[] = []
    try {
      for (const name of ['first', 'second']) {
        const mount = join(directory, name)
        mkdirSync(mount)
        const mounted = spawnSync('bindfs', [back, mount], { encoding: 'utf8' })
        assert.equal(mounted.status, 0, mounted.stderr)
        mounts.push(mount)
      }
      const [first = '', second = ''] = mounts
      await work(back, first, second)
    } finally {
      for (const mount of mounts) {
        // Lazily: an open file of a failed test must not keep the mount.
        spawnSync('umount', ['-l', mount])
      }
    }
  })
}
