/** How tools write the lines of a text: with numbers, in logs, in colours, in diffs, in JSON. */

const ESCAPE = '\u001b'
const RESET = `${ESCAPE}[0m`

type Framing = (lines: readonly string[]) => unknown

const eachLine =
  (frame: (line: string, number: number) => string): Framing =>
  (lines) =>
    lines.map((line, index) => frame(line, index + 8)).join('\n')

const twoDigits = (number: number): string => String(number % 60).padStart(2, '0')

/** What a tool gives when it shows these lines: a text, or a value with structure. */
export const FRAMINGS: Readonly<Record<string, Framing>> = {
  'plain text': (lines) => lines.join('\n'),
  'lines of Windows': (lines) => lines.join('\r\n'),
  'an indented block': eachLine((line) => `    ${line}`),
  'cat -n': eachLine((line, number) => `${String(number).padStart(6)}\t${line}`),
  'numbers with arrows': eachLine((line, number) => `${String(number).padStart(5)}→${line}`),
  'numbers with bars': eachLine((line, number) => `${number} | ${line}`),
  'numbers with colons': eachLine((line, number) => `${number}: ${line}`),
  'grep -n': eachLine((line, number) => `${number}:${line}`),
  'grep -n -A': eachLine((line, number) => `${number}${number === 8 ? ':' : '-'}${line}`),
  'grep -r': eachLine((line) => `src/settings.txt:${line}`),
  'rg in colours': eachLine(
    (line, number) => `${ESCAPE}[0m${ESCAPE}[32m${number}${RESET}:${ESCAPE}[0m${ESCAPE}[1m${ESCAPE}[31m${line}${RESET}`,
  ),
  'added lines': eachLine((line) => `+${line}`),
  'removed lines': eachLine((line) => `-${line}`),
  'a diff in colours': eachLine((line) => `${ESCAPE}[32m+${ESCAPE}[m${ESCAPE}[32m${line}${ESCAPE}[m`),
  'names in colours': eachLine((line) =>
    line.replace(/[\w-]+(?=["']?[=:])/g, (name) => `${ESCAPE}[31m${name}${RESET}`),
  ),
  'values in colours': eachLine((line) =>
    line.replace(/([=:] ?)([\w"'].*)$/, (_, sign, value) => `${sign}${ESCAPE}[32m${value}${ESCAPE}[39m`),
  ),
  'lines with time stamps': eachLine((line, number) => `2025-11-22T09:15:${twoDigits(number)}.481Z ${line}`),
  'docker compose': eachLine((line) => `${ESCAPE}[36mapp_1      |${RESET} ${line}`),
  'the log of a service': eachLine((line, number) => `Nov 22 09:15:${twoDigits(number)} web-1 app[1234]: ${line}`),
  'numbers in brackets': eachLine((line, number) => `[${number}] ${line}`),
  'a citation in a citation': eachLine((line) => `>> ${line}`),
  'a fenced block': (lines) => ['```', ...lines, '```'].join('\n'),
  'a citation': eachLine((line) => `> ${line}`),
  'lines of HTML': (lines) => `<p>${lines.join('<br>')}</p>`,
  'text in JSON text': (lines) => JSON.stringify({ path: 'settings.txt', content: lines.join('\n') }),
  'JSON that was cut, with numbers': (lines) =>
    `${JSON.stringify({ content: lines.map((line, index) => `${index + 8}\t${line}`).join('\n') }).slice(0, -2)}…`,
  'an array of lines': (lines) => ({ path: 'settings.txt', lines }),
  'an array of objects': (lines) => lines.map((text, index) => ({ line: index + 8, text })),
  'records of a log driver': (lines) =>
    lines.map((line) => JSON.stringify({ log: `${line}\n`, stream: 'stdout' })).join('\n'),
}

/** Framings in which each line is a member or a record of its own. */
export const SPLIT_LINES: ReadonlySet<string> = new Set([
  'an array of lines',
  'an array of objects',
  'records of a log driver',
])
