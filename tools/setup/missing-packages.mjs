import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * @typedef {object} LockedPackage
 * @property {boolean} [link] a workspace
 * @property {boolean} [optional]
 * @property {string | string[]} [os]
 * @property {string | string[]} [cpu]
 * @property {string | string[]} [libc]
 *
 * @typedef {{ os: string, cpu: string, libc: string | undefined }} Machine
 */

/**
 * The packages the lockfile wants on this machine and that are not installed. One look for each: what it holds is npm's.
 * @param {string} root
 * @returns {string[]}
 */
export function missingPackages(root) {
  /** @type {{ packages: Record<string, LockedPackage> }} */
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  return wantedHere(packages, thisMachine())
    .filter((path) => !existsSync(join(root, path, 'package.json')))
    .map((path) => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length));
}

/**
 * @param {Record<string, LockedPackage>} packages
 * @param {Machine} machine
 */
export function wantedHere(packages, machine) {
  return Object.entries(packages)
    .filter(([path, locked]) => path.includes('node_modules/') && locked.link !== true)
    .filter(([, locked]) => locked.optional !== true || isBuildFor(locked, machine))
    .map(([path]) => path);
}

/**
 * An optional package is asked for when it is a build for exactly this machine: the tools do not run without theirs.
 * Those that name no machine belong to a build for some other, and npm alone knows which.
 * @param {LockedPackage} locked
 * @param {Machine} machine
 */
function isBuildFor({ os, cpu, libc }, machine) {
  if (os === undefined || cpu === undefined) return false;
  return names(os, machine.os) && names(cpu, machine.cpu) && (libc === undefined || names(libc, machine.libc));
}

/**
 * @param {string | string[]} list
 * @param {string | undefined} value
 */
function names(list, value) {
  return value !== undefined && [list].flat().includes(value);
}

/** @returns {Machine} */
function thisMachine() {
  return { os: process.platform, cpu: process.arch, libc: process.platform === 'linux' ? libcFamily() : undefined };
}

/** As npm finds it; `undefined` when it cannot be told, and then no build for one is missed. */
function libcFamily() {
  try {
    const ldd = readFileSync('/usr/bin/ldd', 'utf8');
    if (ldd.includes('musl')) return 'musl';
    return ldd.includes('GNU C Library') ? 'glibc' : undefined;
  } catch {
    return undefined;
  }
}
