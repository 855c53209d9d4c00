// Run by the set-up on the pinned Node: node tools/setup/bundle-query-builder.mjs FROM TO
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { rolldown } from 'rolldown';

const [from = '', to = ''] = process.argv.slice(2);
const bundle = await rolldown({ input: join(from, 'dist/index.js'), platform: 'node', tsconfig: false });
// The licence asks that its text goes where the code goes.
await bundle.write({ file: to, format: 'es', banner: `/*\n${readFileSync(join(from, 'LICENSE'), 'utf8')}*/` });
await bundle.close();
