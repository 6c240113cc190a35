/** Parses and checks points in time. A time without a zone is UTC, because history files are moved between machines. */

import { invalidArgument } from './errors.ts'

const ISO_8601 =
  /^((?:\d{4}|[+-]\d{6})-\d\d-(\d\d))(?:[T ](\d\d:\d\d)(?::(\d\d)(?:[.,](\d+))?)?(?:Z|([+-])([01]\d|2[0-3]):?([0-5]\d)?)?)?$/i
/** The common forms of ISO 8601, which are written unchanged; other forms are normalised. */
const PLAIN = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)?)?$/
const EXPECTED = 'a valid date, an ISO 8601 string or a number of milliseconds'

/** Converts an ISO 8601 text to milliseconds since 1970; `NaN` if it is not one or names a day that does not exist. */
export function parseTimestamp(text: string): number {
  const match = ISO_8601.exec(text)
  if (match === null) {
    return Number.NaN
  }
  const [, date, day, minutes = '00:00', seconds = '00', fraction = '', sign, offsetHours = '0', offsetMinutes = '0'] =
    match
  const utc = Date.parse(`${date}T${minutes}:${seconds}.${fraction.padEnd(3, '0').slice(0, 3)}Z`)
  // The 30th of February would be the 2nd of March; 24:00 is the next day.
  if (new Date(utc).getUTCDate() !== Number(day)) {
    return Number.NaN
  }
  const offset = (Number(offsetHours) * 60 + Number(offsetMinutes)) * 60_000
  return sign === '-' ? utc + offset : utc - offset
}

/** Checks a point in time and converts it to milliseconds since 1970. */
export function checkTime(value: Date | string | number, name: string): number {
  let time = Number.NaN
  if (typeof value === 'string') {
    time = parseTimestamp(value)
  } else if (typeof value === 'number' || value instanceof Date) {
    time = new Date(value).getTime()
  }
  if (Number.isNaN(time)) {
    throw invalidArgument(name, EXPECTED, value)
  }
  return time
}

/**
 * Checks a point in time and converts it to ISO 8601; a text in a common form is kept. Years outside 0 to 9999 are refused,
 * because few programs read their longer form.
 */
export function checkTimestamp(value: Date | string | number, name: string): string {
  const time = checkTime(value, name)
  const text = typeof value === 'string' && PLAIN.test(value) ? value : new Date(time).toISOString()
  if (!PLAIN.test(text)) {
    throw invalidArgument(name, `${EXPECTED} in the years 0 to 9999`, value)
  }
  return text
}
