import { accessSync, constants, readdirSync, statSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';

/**
 * Where an executable is, without starting anything. `extra` may hold one `*` per path, for versioned folders.
 * @param {string} name
 * @param {string[]} [extra]
 * @returns {string | undefined}
 */
export function findExecutable(name, extra = []) {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), ...extra.flatMap(expand)];
  return folders
    .filter((folder) => folder !== '')
    .map((folder) => join(folder, name))
    .find(isExecutableFile);
}

/** @param {string} path */
function isExecutableFile(path) {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** @param {string} pattern */
function expand(pattern) {
  const star = pattern.indexOf('*');
  if (star === -1) return [pattern];
  const parent = dirname(pattern.slice(0, star + 1));
  const rest = pattern.slice(star + 1);
  try {
    return readdirSync(parent).map((entry) => join(parent, entry, rest));
  } catch {
    return [];
  }
}
