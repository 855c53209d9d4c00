import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { pinnedNode } from '../pinned-node.mjs';
import { runLogged } from './run-logged.mjs';

/**
 * What Node makes of our sources, kept for the first command that somebody types: it starts a daemon, and would compile
 * each of its files. Only a cache: where this does not work, the first commands fill it themselves, and take longer.
 * @type {import('../setup.mjs').Step}
 */
export const compiledSources = {
  name: 'compiled sources',

  async probe({ root }) {
    return existsSync(join(root, COMPILED)) ? READY : { kind: 'work', why: 'nothing was started here yet' };
  },

  async work({ root, log, onChild }) {
    // As apps/cli/bin/compile-cache.mjs wants it: ours alone.
    mkdirSync(join(root, COMPILED), { recursive: true, mode: 0o700 });
    const { ok } = await runLogged({
      argv: [pinnedNode(root).path, 'tools/setup/run-a-first-command.mjs'],
      cwd: root,
      log,
      onChild,
      onSignal: 'stop',
    });
    return ok ? 'by a first command in a throw-away home' : `left to the first commands, see ${log}`;
  },
};

const COMPILED = '.cache/compiled';

/** @type {import('../setup.mjs').Probe} */
const READY = { kind: 'ready', detail: 'kept from earlier commands' };
