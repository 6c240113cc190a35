/** A proxy in front of a server, which delays what passes, keeps answers back and cuts connections. */

import { connect, createServer, type Socket } from 'node:net'

export interface DelayingProxy {
  readonly port: number
  /** Adds this many ms to each round trip. */
  setLatency(ms: number): void
  /** Keeps all answers of the server from now on, or passes them again. What was kept is lost. */
  holdAnswers(isHeld: boolean): void
  /** Cuts all connections, half-way through whatever passes. */
  cut(): void
  close(): void
}

/** A proxy for the server at `target`, on a port of its own. */
export function startProxy(target: number): Promise<DelayingProxy> {
  const open = new Set<Socket>()
  let latency = 0
  let isHeld = false
  const pass = (from: Socket, to: Socket, isAnswer: boolean): void => {
    from.setNoDelay(true)
    from.on('data', (piece) => {
      if (isHeld && isAnswer) {
        return
      }
      if (latency === 0) {
        to.write(piece)
      } else {
        setTimeout(() => to.write(piece), latency / 2)
      }
    })
    from.on('error', () => undefined)
    from.on('close', () => {
      open.delete(from)
      to.destroy()
    })
    open.add(from)
  }
  const server = createServer((client) => {
    const upstream = connect(target, '127.0.0.1')
    pass(client, upstream, false)
    pass(upstream, client, true)
  })
  const cut = (): void => {
    for (const socket of open) {
      socket.destroy()
    }
  }
  return new Promise((started, failed) => {
    server.once('error', failed)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      const port = typeof address === 'object' && address !== null ? address.port : 0
      const close = (): void => {
        server.close()
        cut()
      }
      const setLatency = (ms: number): void => {
        latency = ms
      }
      const holdAnswers = (wanted: boolean): void => {
        isHeld = wanted
      }
      started({ port, setLatency, holdAnswers, cut, close })
    })
  })
}
