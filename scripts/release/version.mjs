// What a tag releases: `node scripts/release/version.mjs TAG [owner/repository]` checks that all places agree, and prints the section of
// CHANGELOG.md.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * The section of a changelog for a version.
 *
 * @returns {string | undefined}
 */
export function sectionOf(changelog, version) {
  const sections = changelog.split(/^## /m).slice(1)
  const found = sections.find((section) => /^\[?([^\]\s]+)/.exec(section)?.[1] === version)
  return found?.slice(found.indexOf('\n')).trim()
}

/** What keeps a tag from being released, in words. */
export function problemsOf({ tag, repository, manifest, cargo, changelog }) {
  const { version } = manifest
  const crates = /^\[workspace\.package\]\s*\nversion = "([^"]+)"/m.exec(cargo)?.[1]
  const section = sectionOf(changelog, version)
  return [
    tag === `v${version}` ? undefined : `The tag is ${tag}, and package.json has version ${version}.`,
    crates === version ? undefined : `Cargo.toml has version ${crates}, and package.json ${version}.`,
    section ? undefined : `CHANGELOG.md has no section for ${version}.`,
    new RegExp(`^## .*${version}.*unreleased`, 'm').test(changelog)
      ? `CHANGELOG.md calls ${version} unreleased: write the date of the release there.`
      : undefined,
    repository === undefined || manifest.repository.url === `git+https://github.com/${repository}.git`
      ? undefined
      : `package.json names the repository ${manifest.repository.url}, and this is ${repository}: npm refuses the provenance.`,
  ].filter((problem) => problem !== undefined)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const root = fileURLToPath(new URL('../..', import.meta.url))
  const [tag, repository] = process.argv.slice(2)
  const changelog = readFileSync(join(root, 'CHANGELOG.md'), 'utf8')
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const cargo = readFileSync(join(root, 'Cargo.toml'), 'utf8')
  const problems = problemsOf({ tag, repository, manifest, cargo, changelog })
  if (problems.length > 0) {
    console.error(problems.join('\n'))
    process.exit(1)
  }
  console.log(sectionOf(changelog, manifest.version))
}
