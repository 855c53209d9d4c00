/** Names that only secrets have. Not a wall, `Secret` is; it catches the header or option that was never wrapped. */
const SECRET_NAME =
  /(?:password|passwd|pwd|passphrase|secret|token|bearer|authorization|cookie|(?:api|private|access)[-_]?key|credential|dsn)s?$/i;

export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name);
}

const SECRET_PARAMETER =
  /([?&;](?:[^=?&;#\s]*(?:password|passwd|pwd|secret|token|api[-_]?key|access[-_]?key))=)[^&;#\s]*/gi;

/**
 * SECURITY: T-24 — a URL in a text carries its credentials along: user, password and telling parameters are taken out.
 * Where the user part ends is guessed generously, because passwords hold unencoded slashes and at signs.
 */
export function redactUrls(text: string): string {
  if (!text.includes('://')) return text;
  return text.replace(/\S+/g, redactRun);
}

function redactRun(run: string): string {
  const scheme = run.indexOf('://');
  if (scheme === -1) return run;
  const start = scheme + 3;
  const end = run.lastIndexOf('@');
  const before = end > start ? run.slice(start, end) : '';
  // Not every at sign ends a user part: https://host/@scope/name.
  const isUser = before !== '' && (!/[/?#]/.test(before) || /^[^/?#]*[:@]/.test(before));
  const withoutUser = isUser ? `${run.slice(0, start)}[redacted]${run.slice(end)}` : run;
  return withoutUser.replace(SECRET_PARAMETER, '$1[redacted]');
}
