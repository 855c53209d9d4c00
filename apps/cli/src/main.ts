import { bundledProgram, entryUrl } from '@palyra/primitives/bare';

const bundled = bundledProgram(entryUrl(import.meta.url, './palyra-process').href);
await (bundled === undefined ? import('./palyra-process.ts') : import(bundled));
