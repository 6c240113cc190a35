/** A proxy in front of a bucket's server, which counts what is asked, refuses some uploads, and loses the answers to others. */

import { createServer, type IncomingMessage, type RequestOptions, request, type ServerResponse } from 'node:http'

/** Of so many uploads, one is refused, and the answer to another one is lost: 5 % each. */
const FAULT_EVERY = 20
const LOST_ANSWER = FAULT_EVERY / 2
/** What refused uploads get in turn. */
const REFUSALS = [
  [503, 'SlowDown'],
  [500, 'InternalError'],
] as const

export interface BucketProxy {
  readonly endpoint: string
  /** Whether uploads fail. */
  setFaults(isFaulty: boolean): void
  /** What was asked since the proxy started. */
  counts(): BucketCounts
  close(): void
}

export interface BucketCounts {
  readonly requests: number
  /** The bytes of the answers' bodies. */
  readonly fetched: number
  readonly uploads: number
  readonly refused: number
  readonly lost: number
}

/** A proxy for the server at `target`, on a port of its own. */
export function startBucketProxy(target: number): Promise<BucketProxy> {
  let isFaulty = false
  const counts = { requests: 0, fetched: 0, uploads: 0, refused: 0, lost: 0 }

  const refuse = (asked: IncomingMessage, answer: ServerResponse): void => {
    const [status, code] = REFUSALS[counts.refused++ % REFUSALS.length] ?? REFUSALS[0]
    asked.resume()
    asked.once('end', () => {
      answer.writeHead(status, { 'content-type': 'application/xml' })
      answer.end(`<Error><Code>${code}</Code><Message>A fault of the benchmark.</Message></Error>`)
    })
  }

  const forward = (asked: IncomingMessage, answer: ServerResponse, losesAnswer: boolean): void => {
    const options: RequestOptions = { host: '127.0.0.1', port: target, method: asked.method, path: asked.url }
    const forwarded = request({ ...options, headers: asked.headers }, (found) => {
      if (losesAnswer) {
        // The server has stored the object when its answer ends.
        counts.lost++
        found.resume()
        found.once('close', () => answer.destroy())
        return
      }
      found.on('data', (piece: Uint8Array) => {
        counts.fetched += piece.length
      })
      answer.writeHead(found.statusCode ?? 502, found.headers)
      found.pipe(answer)
    })
    forwarded.once('error', () => answer.destroy())
    // The client ended in the middle of its request.
    asked.once('error', () => forwarded.destroy())
    asked.pipe(forwarded)
  }

  const server = createServer((asked, answer) => {
    counts.requests++
    // Objects, their parts, and the ends of uploads in parts. The creation of such an upload is not counted: if its answer is lost, the
    // upload is unknown to the client, and a rule of the bucket removes it.
    const isUpload = asked.method === 'PUT' || (asked.method === 'POST' && asked.url?.includes('uploadId='))
    const number = isUpload && isFaulty ? counts.uploads++ % FAULT_EVERY : -1
    if (number === 0) {
      refuse(asked, answer)
    } else {
      forward(asked, answer, number === LOST_ANSWER)
    }
  })
  return new Promise((started, failed) => {
    server.once('error', failed)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      const port = typeof address === 'object' && address !== null ? address.port : 0
      started({
        endpoint: `http://127.0.0.1:${port}`,
        setFaults: (wanted) => {
          isFaulty = wanted
        },
        counts: () => ({ ...counts }),
        close: () => {
          server.close()
          server.closeAllConnections()
        },
      })
    })
  })
}
