import { fileURLToPath } from 'node:url';

/** The `palyra` that runs, as others can start it: hooks, agents and MCP clients are told this path. */
export const OWN_PROGRAM: string = fileURLToPath(new URL('../bin/palyra.mjs', import.meta.url));
