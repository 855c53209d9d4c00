import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pinnedNode } from '../pinned-node.mjs';
import { runLogged } from './run-logged.mjs';
import { SetupError } from './setup-error.mjs';

/**
 * kysely as one file: see packages/storage/src/query-builder.ts, which does without it where it is missing.
 * @type {import('../setup.mjs').Step}
 */
export const queryBuilder = {
  name: 'query builder',

  async probe({ root }) {
    const { bundle, stamp } = placesIn(root);
    if (!existsSync(bundle)) return { kind: 'work', why: 'it is not bundled yet' };
    if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== versionsIn(root))
      return { kind: 'work', why: 'another version is installed' };
    return { kind: 'ready', detail: 'one file' };
  },

  async work({ root, log, onChild }) {
    const { bundle, stamp } = placesIn(root);
    mkdirSync(dirname(bundle), { recursive: true });
    const unfinished = `${bundle}.${process.pid}.js`;
    const { ok, tail } = await runLogged({
      argv: [pinnedNode(root).path, 'tools/setup/bundle-query-builder.mjs', 'node_modules/kysely', unfinished],
      cwd: root,
      log,
      onChild,
      onSignal: 'stop',
    });
    if (!ok) {
      throw new SetupError({
        code: 'setup.bundle_failed',
        message: `kysely does not bundle; the whole output is in ${log}`,
        fix: 'remove node_modules and run this again',
        output: tail,
      });
    }
    // At once: nobody loads half of it.
    renameSync(unfinished, bundle);
    writeFileSync(stamp, versionsIn(root));
    return 'bundled';
  },
};

/** @param {string} root */
function placesIn(root) {
  const directory = join(root, 'packages/storage/build');
  return { bundle: join(directory, 'kysely.js'), stamp: join(directory, 'stamp') };
}

/** @param {string} root */
function versionsIn(root) {
  return ['kysely', 'rolldown']
    .map((name) => {
      const { version } = JSON.parse(readFileSync(join(root, 'node_modules', name, 'package.json'), 'utf8'));
      return `${name} ${version}\n`;
    })
    .join('');
}
