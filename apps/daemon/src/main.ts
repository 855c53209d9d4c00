import { bundledProgram, entryUrl } from '@palyra/primitives/bare';

// SECURITY: T-42 — root runs nothing from a cache; and the user that a service becomes could not read the rest of it.
const isService = process.argv.some((each) => /^--service-user(?:=|$)/.test(each));
const bundled = isService ? undefined : bundledProgram(entryUrl(import.meta.url, './palyrad-process').href);
await (bundled === undefined ? import('./palyrad-process.ts') : import(bundled));
