import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const ASKED = /** @type {const} */ (['dependencies', 'devDependencies', 'optionalDependencies', 'peerDependencies']);

/** @typedef {Partial<Record<(typeof ASKED)[number], Record<string, string>>>} Manifest */

/**
 * Whether the lockfile was written for these manifests. npm would rewrite it all the same when the registry has a build
 * for some other machine that it had not before: then a set-up would leave a changed checkout behind.
 * @param {string} root
 * @param {readonly string[]} folders of the workspaces, below the root
 */
export function isLockfileInStep(root, folders) {
  /** @type {{ packages: Record<string, Manifest> }} */
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  return ['', ...folders].every((folder) => {
    const locked = packages[folder];
    if (locked === undefined || !existsSync(join(root, folder, 'package.json'))) return false;
    /** @type {Manifest} */
    const manifest = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'));
    return ASKED.every((kind) => spelled(manifest[kind]) === spelled(locked[kind]));
  });
}

/** @param {Record<string, string>} [asked] */
function spelled(asked = {}) {
  return JSON.stringify(Object.entries(asked).sort(([one], [other]) => (one < other ? -1 : 1)));
}
