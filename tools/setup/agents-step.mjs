import { createHash } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { missingPackages } from './missing-packages.mjs';
import { npmCommand } from './npm-command.mjs';
import { npmEnvironment, WHOLE_TREE } from './npm-environment.mjs';
import { runLogged } from './run-logged.mjs';
import { SetupError } from './setup-error.mjs';

/** With its own lockfile: no part of the workspaces, and nothing of the product sees it. */
const AGENTS = 'tests/agents';

/**
 * The agents of others that the tests run Palyra in front of: some hundred megabytes, which only the tests are worth.
 * @type {import('../setup.mjs').Step}
 */
export const agents = {
  name: 'agents',

  async probe({ root, groups }) {
    if (!groups.includes('agents')) return { kind: 'ready', detail: 'none asked for' };
    const directory = join(root, AGENTS);
    const missing = missingPackages(directory);
    if (missing.length > 0) return { kind: 'work', why: `not installed: ${missing.join(', ')}` };
    if (readStamp(directory) !== digest(directory)) return { kind: 'work', why: 'its lockfile changed' };
    return { kind: 'ready', detail: namesIn(directory) };
  },

  async work({ root, log, onChild }) {
    const directory = join(root, AGENTS);
    // Removed first: a set-up that is cut short must not look finished.
    rmSync(stampOf(directory), { force: true });
    const { ok, tail } = await runLogged({
      argv: [
        ...npmCommand(),
        'ci',
        '--ignore-scripts',
        '--no-audit',
        '--no-fund',
        '--prefer-offline',
        ...WHOLE_TREE.filter((option) => option !== '--package-lock'),
      ],
      cwd: directory,
      env: npmEnvironment(process.env),
      log,
      onChild,
      onSignal: 'stop',
    });
    const missing = ok ? missingPackages(directory) : [];
    if (!ok || missing.length > 0) {
      throw new SetupError({
        code: ok ? 'setup.npm_incomplete' : 'setup.npm_failed',
        message: ok
          ? `npm ci ended well, but did not install ${missing.join(', ')}; its whole output is in ${log}`
          : `npm ci in ${AGENTS} failed; its whole output is in ${log}`,
        fix: 'look at the lines above; a first set-up needs the network. What was fetched is kept: run it again.',
        output: tail,
      });
    }
    writeFileSync(stampOf(directory), digest(directory));
    return `installed ${namesIn(directory)}`;
  },
};

/** @param {string} directory */
function namesIn(directory) {
  /** @type {{ dependencies: Record<string, string> }} */
  const { dependencies } = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'));
  return Object.entries(dependencies)
    .map(([name, version]) => `${name} ${version}`)
    .join(', ');
}

/** @param {string} directory */
function digest(directory) {
  const hash = createHash('sha256').update(`${process.platform} ${process.arch}\n`);
  return hash.update(readFileSync(join(directory, 'package-lock.json'))).digest('hex');
}

/** @param {string} directory */
function stampOf(directory) {
  return join(directory, 'node_modules/.palyra-setup');
}

/** @param {string} directory */
function readStamp(directory) {
  try {
    return readFileSync(stampOf(directory), 'utf8');
  } catch {
    return undefined;
  }
}
