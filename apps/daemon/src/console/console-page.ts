import { createHash } from 'node:crypto';

const STYLE = 'body{font:16px/1.5 system-ui,sans-serif;max-width:40rem;margin:4rem auto;padding:0 1rem}';

/** The code comes in the fragment, which no browser sends anywhere, and is gone from the address once it is used. */
const SCRIPT = `
const show = (text) => { document.querySelector('#who').textContent = text; };
const ask = (method, body) => fetch('/session', {
  method, body, headers: { 'content-type': 'application/json', 'x-palyra-key': sessionStorage.getItem('key') ?? '' },
});
const code = location.hash.slice(1);
history.replaceState(null, '', '/');
const entered = code === '' ? undefined : await ask('POST', JSON.stringify({ code })).then((answer) => answer.json());
if (entered?.key !== undefined) sessionStorage.setItem('key', entered.key);
const answer = await ask('GET');
show(answer.ok ? 'You are ' + (await answer.json()).principal + '.' : 'Nobody is signed in here.');
`;

/** Honest: there is nothing to see yet. */
export const CONSOLE_PAGE: string = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Palyra</title>
<style>${STYLE}</style>
<h1>Palyra</h1>
<p id="who">Nobody is signed in here.</p>
<p>The web console is not built yet. Until it is, questions are answered with <code>palyra inbox</code>.</p>
<script type="module">${SCRIPT}</script>
</html>
`;

/** SECURITY: T-37 — this page's own style and script by their digests, calls to its own origin, and nothing else. */
export const CONSOLE_POLICY: string = [
  "default-src 'none'",
  `style-src '${digestOf(STYLE)}'`,
  `script-src '${digestOf(SCRIPT)}'`,
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

function digestOf(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`;
}
