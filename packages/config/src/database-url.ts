const PROTOCOLS = ['postgres:', 'postgresql:'];
/** A connection string can carry secrets in other parameters too, so only the values of these are shown. */
const SHOWN_PARAMETERS = new Set(['host', 'port', 'user', 'sslmode', 'application_name', 'connect_timeout']);
const PARAMETER_NAME = /^[a-z_]+$/;
const REDACTED = '***';

/** Empty means the embedded database. */
export function isDatabaseUrl(text: string): boolean {
  if (text === '') return true;
  const url = URL.parse(text);
  if (url === null || !PROTOCOLS.includes(url.protocol)) return false;
  if (url.hostname === '' && !url.searchParams.has('host')) return false;

  // A `?`, `#` or `/` in a password that is not percent-encoded ends the authority early; its rest must not pass for a
  // path or a parameter, which would be shown.
  const rest = url.pathname + url.search;
  return (
    !rest.includes('@') && url.hash === '' && [...url.searchParams.keys()].every((name) => PARAMETER_NAME.test(name))
  );
}

/** The address without what must not be shown: its password and every parameter not known to be harmless. */
export function redactDatabaseUrl(text: string): string {
  if (text === '') return '';
  const url = URL.parse(text);
  if (url === null || !isDatabaseUrl(text)) return REDACTED;

  const password = url.password === '' ? '' : `:${REDACTED}`;
  const user = url.username === '' && password === '' ? '' : `${url.username}${password}@`;
  const parameters = [...url.searchParams].map(([name, value]) => {
    return `${name}=${SHOWN_PARAMETERS.has(name) ? encodeURIComponent(value) : REDACTED}`;
  });
  const query = parameters.length === 0 ? '' : `?${parameters.join('&')}`;
  return `${url.protocol}//${user}${url.host}${url.pathname}${query}`;
}
