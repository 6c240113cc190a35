/** How far a long command is: on standard error, on a terminal, and not before it has taken a while. */

const SHOWN_AFTER = 500
const INTERVAL = 100

export interface Progress {
  update(text: string): void
  done(): void
}

export function startProgress(isForPeople: boolean): Progress {
  if (!isForPeople || process.stderr.isTTY !== true || process.env['TERM'] === 'dumb') {
    return { update: () => undefined, done: () => undefined }
  }
  let latest = ''
  let shown = ''
  let timer: NodeJS.Timeout | undefined
  const begin = Date.now()
  timer = setInterval(() => {
    if (Date.now() - begin >= SHOWN_AFTER && latest !== shown) {
      shown = latest
      process.stderr.write(`\r\x1b[K${latest}`)
    }
  }, INTERVAL)
  timer.unref()
  return {
    update(text) {
      latest = text
    },
    done() {
      clearInterval(timer)
      if (shown !== '') {
        process.stderr.write('\r\x1b[K')
      }
    },
  }
}
