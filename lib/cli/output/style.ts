/** Colours, and when there are any. */

export interface Style {
  bold(text: string): string
  dim(text: string): string
  red(text: string): string
  green(text: string): string
  yellow(text: string): string
  cyan(text: string): string
}

const CODES: Readonly<Record<keyof Style, readonly [on: number, off: number]>> = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  cyan: [36, 39],
}

export function createStyle(hasColours: boolean): Style {
  const style = (name: keyof Style) => {
    const [on, off] = CODES[name]
    return (text: string): string => (hasColours && text !== '' ? `\x1b[${on}m${text}\x1b[${off}m` : text)
  }
  return {
    bold: style('bold'),
    dim: style('dim'),
    red: style('red'),
    green: style('green'),
    yellow: style('yellow'),
    cyan: style('cyan'),
  }
}

/** The option decides, then the environment, then whether it is a terminal. */
export function wantsColours(
  when: 'auto' | 'always' | 'never' | undefined,
  environment: NodeJS.ProcessEnv,
  isTerminal: boolean,
): boolean {
  if (when === 'always' || when === 'never') {
    return when === 'always'
  }
  const forced = environment['FORCE_COLOR']
  if (forced !== undefined && forced !== '') {
    return forced !== '0' && forced !== 'false'
  }
  if ((environment['NO_COLOR'] ?? '') !== '' || environment['CLICOLOR'] === '0' || environment['TERM'] === 'dumb') {
    return false
  }
  return isTerminal
}
