/** `npm run docs` writes the generated pages of docs/reference; `--check` only says whether they are fresh. */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { PAGES, stalePages } from './docs/pages.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const stale = await stalePages(root);

if (!process.argv.includes('--check')) {
  for (const { path } of stale) writeFileSync(`${root}${path}`, (await PAGES[path]?.()) ?? '');
  console.log(stale.length === 0 ? 'The reference is fresh.' : `Wrote ${stale.map(({ path }) => path).join(', ')}.`);
} else if (stale.length > 0) {
  console.error(`error[docs.stale]: ${stale.map(({ path }) => path).join(', ')} does not match its source.`);
  console.error('fix: Run npm run docs.');
  process.exitCode = 1;
}
