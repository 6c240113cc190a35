/** A list of regular expressions as projects have it that redact by hand, with a rule for names of variables. */

const EXPRESSIONS: readonly (readonly [pattern: RegExp, replacement: string])[] = [
  [/\bAKIA[0-9A-Z]{16}\b/g, '[REDACTED]'],
  [/\bgh[pousr]_[0-9A-Za-z]{36,}\b/g, '[REDACTED]'],
  [/\bsk-[0-9A-Za-z_-]{20,}/g, '[REDACTED]'],
  [/\bxox[abprs]-[0-9A-Za-z-]{10,}/g, '[REDACTED]'],
  [/\beyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{10,}/g, '[REDACTED]'],
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?-----END [A-Z ]*PRIVATE KEY-----/g, '[REDACTED]'],
  [/\b(Bearer\s+)[\w.~+/=-]{16,}/gi, '$1[REDACTED]'],
  [/(:\/\/[^\s:/@]+:)[^\s@/]+(?=@)/g, '$1[REDACTED]'],
  [/(["']?\b\w*(?:api_?key|token|secret|password|passwd|pwd)\b["']?\s*[:=]\s*["']?)[^\s"',;]{6,}/gi, '$1[REDACTED]'],
  // The rule for variables of the environment.
  [/^((?:export\s+)?[A-Z][A-Z0-9_]*(?:KEY|TOKEN|SECRET|PASSWORD|PASS|CREDENTIALS?)[A-Z0-9_]*=).+$/gm, '$1[REDACTED]'],
]

export function redactByPlainList(text: string): string {
  return EXPRESSIONS.reduce((left, [pattern, replacement]) => left.replace(pattern, replacement), text)
}
