import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { pinnedNode } from '../pinned-node.mjs';
import { isLockfileInStep } from './lockfile-in-step.mjs';
import { missingPackages } from './missing-packages.mjs';
import { npmCommand } from './npm-command.mjs';
import { npmEnvironment, WHOLE_TREE } from './npm-environment.mjs';
import { runLogged } from './run-logged.mjs';
import { SetupError } from './setup-error.mjs';

const STAMP = 'node_modules/.palyra-setup';
const SHOWN = 5;
// Over a hundred optional packages for other platforms are asked for one after another: with npm's own patience a
// machine without network waits for minutes before it hears so. What was fetched is cached, so trying again is cheap.
const RETRIES = ['--fetch-retries=1', '--fetch-retry-mintimeout=200', '--fetch-retry-maxtimeout=1000'];

/** @type {import('../setup.mjs').Step} */
export const npmDependencies = {
  name: 'npm dependencies',

  async probe({ root }) {
    if (readStamp(root) !== digest(root)) return { kind: 'work', why: 'the lockfile or a package.json changed' };
    const unlinked = workspaces(root).filter(({ path, link }) => !isLinked(path, link));
    if (unlinked.length > 0) return { kind: 'work', why: `not linked: ${unlinked.map(({ name }) => name).join(', ')}` };
    const missing = missingPackages(root);
    if (missing.length > 0) return { kind: 'work', why: `not installed: ${shortList(missing)}` };
    try {
      return { kind: 'ready', detail: `Node ${pinnedNode(root).version}` };
    } catch {
      return { kind: 'work', why: 'the pinned Node is missing or does not run' };
    }
  },

  async work({ root, log, onChild }) {
    const before = readFileSync(join(root, 'package-lock.json'), 'utf8');
    // Removed first: a set-up that is cut short must not look finished.
    rmSync(join(root, STAMP), { force: true });
    const isInStep = isLockfileInStep(
      root,
      workspaces(root).map(({ path }) => relative(root, path)),
    );
    const { ok, tail } = await runLogged({
      // Not `npm ci`: the lockfile cannot name builds that do not exist for some platforms (dependencies.md).
      argv: [
        ...npmCommand(),
        'install',
        '--ignore-scripts',
        '--no-audit',
        '--no-fund',
        '--prefer-offline',
        isInStep ? '--no-save' : '--save',
        ...WHOLE_TREE,
        ...RETRIES,
      ],
      cwd: root,
      env: npmEnvironment(process.env),
      log,
      onChild,
      onSignal: 'stop',
    });
    if (!ok) {
      throw new SetupError({
        code: 'setup.npm_failed',
        message: `npm install failed; its whole output is in ${log}`,
        fix: 'look at the lines above; a first set-up needs the network. What was fetched is kept: run it again.',
        output: tail,
      });
    }
    const missing = missingPackages(root);
    if (missing.length > 0) {
      throw new SetupError({
        code: 'setup.npm_incomplete',
        message: `npm install ended well, but did not install ${shortList(missing)}; its whole output is in ${log}`,
        fix: 'look for what keeps npm from them (`npm config list`), or remove node_modules; then run this again.',
        output: tail,
      });
    }
    const node = pinnedNode(root);
    writeFileSync(join(root, STAMP), digest(root));
    const changed = readFileSync(join(root, 'package-lock.json'), 'utf8') !== before;
    return `installed, Node ${node.version}${changed ? '; package-lock.json was updated' : ''}`;
  },
};

/** @param {string[]} names */
function shortList(names) {
  const rest = names.length - SHOWN;
  return names.slice(0, SHOWN).join(', ') + (rest > 0 ? ` and ${rest} more` : '');
}

/** Everything that decides what npm would install, and for which machine. @param {string} root */
function digest(root) {
  const hash = createHash('sha256').update(`${process.platform} ${process.arch}\n`);
  const manifests = workspaces(root).map(({ path }) => join(path, 'package.json'));
  for (const file of [join(root, 'package-lock.json'), join(root, 'package.json'), ...manifests]) {
    hash.update(`${file.slice(root.length)}\n`).update(readFileSync(file));
  }
  return hash.digest('hex');
}

/** @param {string} root */
export function workspaces(root) {
  /** @type {{ workspaces: string[] }} */
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const folders = manifest.workspaces.flatMap((pattern) => {
    const parent = join(root, pattern.replace(/\/\*$/, ''));
    return existsSync(parent) ? readdirSync(parent).map((name) => join(parent, name)) : [];
  });
  return folders
    .filter((path) => existsSync(join(path, 'package.json')))
    .sort()
    .map((path) => {
      /** @type {string} */
      const name = JSON.parse(readFileSync(join(path, 'package.json'), 'utf8')).name ?? basename(path);
      return { path, name, link: join(root, 'node_modules', name) };
    });
}

/**
 * @param {string} path
 * @param {string} link
 */
function isLinked(path, link) {
  try {
    return realpathSync(link) === realpathSync(path);
  } catch {
    return false;
  }
}

/** @param {string} root */
function readStamp(root) {
  try {
    return readFileSync(join(root, STAMP), 'utf8');
  } catch {
    return undefined;
  }
}
