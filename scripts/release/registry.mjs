// A registry on this machine for installs by name: it knows the packages of a release and nothing else.
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'

/**
 * Serves packages until `close()`.
 *
 * @param {readonly { manifest: { name: string, version: string }, tarball?: string }[]} packages those without a tarball have a
 *   manifest only: package managers read there that they do not fit
 * @returns {Promise<{ url: string, asked: string[], close(): Promise<void> }>} `asked` grows by the path of each request
 */
export async function serveRegistry(packages) {
  const asked = []
  const server = createServer((request, response) => {
    const path = decodeURIComponent(request.url ?? '/').slice(1)
    asked.push(path)
    const found = packages.find(({ manifest }) => path === manifest.name || path === `${manifest.name}.tgz`)
    if (found === undefined || (path.endsWith('.tgz') && found.tarball === undefined)) {
      response.writeHead(404, { 'content-type': 'application/json' }).end('{ "error": "not found" }')
    } else if (path.endsWith('.tgz')) {
      response.writeHead(200, { 'content-type': 'application/octet-stream' }).end(readFileSync(found.tarball))
    } else {
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify(listingOf(found, `http://${request.headers.host}`)))
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${server.address().port}/`,
    asked,
    async close() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

function listingOf({ manifest, tarball }, url) {
  const { name, version } = manifest
  const content = tarball === undefined ? Buffer.alloc(0) : readFileSync(tarball)
  const integrity = `sha512-${createHash('sha512').update(content).digest('base64')}`
  return {
    name,
    'dist-tags': { latest: version },
    versions: { [version]: { ...manifest, dist: { tarball: `${url}/${name}.tgz`, integrity } } },
  }
}
