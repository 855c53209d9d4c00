import { spawnSync } from 'node:child_process';
import { pinnedNode } from '../pinned-node.mjs';
import { runLogged } from './run-logged.mjs';

const PROGRAM = ['--conditions=palyra-source', 'tools/setup/bundle-programs.ts'];

/**
 * palyra and palyrad as few files: see packages/primitives/src/bundled-program.ts, which does without them where they are
 * missing or older than the sources. So nothing fails here, not even sources that do not parse.
 * @type {import('../setup.mjs').Step}
 */
export const bundledPrograms = {
  name: 'bundled programs',

  async probe({ root }) {
    const { status } = spawnSync(pinnedNode(root).path, [...PROGRAM, '--check'], { cwd: root, stdio: 'ignore' });
    return status === 0
      ? { kind: 'ready', detail: 'of these sources' }
      : { kind: 'work', why: 'the sources are not bundled, or have changed' };
  },

  async work({ root, log, onChild }) {
    const { ok } = await runLogged({
      argv: [pinnedNode(root).path, ...PROGRAM],
      cwd: root,
      log,
      onChild,
      onSignal: 'stop',
    });
    return ok ? 'bundled' : `left to run from their sources, see ${log}`;
  },
};
