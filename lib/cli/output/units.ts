/** Sizes, numbers and times for people. */

const UNITS = ['B', 'KB', 'MB', 'GB', 'TB'] as const
const STEP = 1024

export function formatBytes(bytes: number): string {
  let size = bytes
  let unit = 0
  while (size >= STEP && unit < UNITS.length - 1) {
    size /= STEP
    unit++
  }
  return `${unit === 0 || size >= 100 ? Math.round(size) : size.toFixed(1)} ${UNITS[unit]}`
}

/** `1 output`, `2 outputs`. */
export function counted(count: number, singular: string, plural = `${singular}s`): string {
  return `${count.toLocaleString('en-US')} ${count === 1 ? singular : plural}`
}

/** Local time on a terminal, ISO 8601 elsewhere. */
export function formatTime(time: number | string | null, isTerminal: boolean): string {
  if (time === null) {
    return '-'
  }
  const date = new Date(time)
  if (Number.isNaN(date.getTime())) {
    return String(time)
  }
  if (!isTerminal) {
    return date.toISOString()
  }
  const part = (value: number): string => String(value).padStart(2, '0')
  const day = `${date.getFullYear()}-${part(date.getMonth() + 1)}-${part(date.getDate())}`
  return `${day} ${part(date.getHours())}:${part(date.getMinutes())}:${part(date.getSeconds())}`
}

const AGE = /^(\d+(?:\.\d+)?)(ms|s|m|h|d|w)$/
const MILLISECONDS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
}

const ISO_8601 = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?$/i

/**
 * An age such as `2h` counts back from now; anything else is ISO 8601, in UTC where it names no zone.
 *
 * @returns ms since 1970, `NaN` when it is neither
 */
export function parseTime(text: string, now: number): number {
  const [, amount, unit = ''] = AGE.exec(text) ?? []
  if (amount !== undefined) {
    return now - Number(amount) * (MILLISECONDS[unit] ?? 0)
  }
  const iso = ISO_8601.exec(text)
  return iso === null ? Number.NaN : Date.parse(iso[1] === undefined && text.length > 10 ? `${text}Z` : text)
}
