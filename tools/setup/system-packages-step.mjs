import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { SYSTEM_PACKAGES } from '../system-packages.mjs';
import { findExecutable } from './find-executable.mjs';
import { runLogged } from './run-logged.mjs';
import { SetupError } from './setup-error.mjs';
import { shellWithoutMainCluster, withoutMainCluster } from './without-main-cluster.mjs';

/** @type {import('../setup.mjs').Step} */
export const systemPackages = {
  name: 'system packages',

  async probe({ groups }) {
    // The sandbox and its tests are Linux's; elsewhere `palyra doctor` says what is missing.
    if (process.platform !== 'linux') return { kind: 'ready', detail: `none needed on ${process.platform}` };
    const missing = missingPackages(groups);
    if (missing.length === 0) return { kind: 'ready', detail: groups.join(', ') || 'none asked for' };
    await wayToRoot(missing);
    return { kind: 'work', why: missing.map(({ apt }) => apt).join(', ') };
  },

  async work({ groups, log, onChild }) {
    const missing = missingPackages(groups);
    const names = missing.map(({ apt }) => apt);
    const asRoot = await wayToRoot(missing);
    /** @param {string[]} args @param {boolean} append */
    const apt = (args, append) =>
      runLogged({
        argv: [
          ...asRoot,
          'env',
          'DEBIAN_FRONTEND=noninteractive',
          'LC_ALL=C.UTF-8',
          'apt-get',
          ...APT_OPTIONS,
          ...args,
        ],
        log,
        append,
        onChild,
        // Cutting dpkg short leaves the machine with half-configured packages.
        onSignal: 'finish',
      });

    // A machine with one dead source still updates the others, so only the installation decides.
    await apt(['update'], false);
    const install = () => apt(['install', '-y', '--no-install-recommends', ...names], true);
    const { ok, tail } = await (names.includes('postgresql')
      ? withoutMainCluster({ asRoot, log, onChild }, install)
      : install());
    const still = missingPackages(groups);
    if (ok && still.length === 0) return `installed ${names.join(', ')}`;
    throw new SetupError({
      code: 'setup.apt_failed',
      message: ok
        ? `apt-get installed ${names.join(', ')}, but not found: ${needsOf(still)}`
        : `apt-get failed; its whole output is in ${log}`,
      fix: `run: ${commandFor(names)}`,
      output: tail,
    });
  },
};

// Another apt (unattended upgrades) is waited for; no pseudo-terminal, or the log fills with progress bars.
const APT_OPTIONS = ['-q', '-o', 'DPkg::Lock::Timeout=300', '-o', 'Dpkg::Use-Pty=0'];

/** @param {import('../system-packages.mjs').SystemGroup[]} groups */
function missingPackages(groups) {
  return groups
    .flatMap((group) => SYSTEM_PACKAGES[group])
    .filter((part) => !part.needs.every((need) => isThere(need, part.in)));
}

/**
 * @param {string} need
 * @param {string[]} [folders]
 */
function isThere(need, folders) {
  return need.startsWith('/') ? existsSync(need) : findExecutable(need, folders) !== undefined;
}

/**
 * What to put before a command so that it runs as root; throws the command a person must run when there is no way.
 * @param {import('../system-packages.mjs').SystemPackage[]} missing
 * @returns {Promise<string[]>}
 */
async function wayToRoot(missing) {
  const names = missing.map(({ apt }) => apt);
  const list = missing.map(({ apt, why }) => `${apt} (${why})`).join(', ');
  if (!existsSync('/usr/bin/apt-get') || !existsSync('/etc/debian_version')) {
    throw new SetupError({
      code: 'setup.unknown_system',
      message: `missing: ${list}`,
      fix: `install what provides ${needsOf(missing)} with this system's package manager, then run this again.`,
    });
  }
  if (process.getuid?.() === 0) return [];
  if (await maySudo()) return ['sudo', '-n'];
  throw new SetupError({
    code: 'setup.may_not_install',
    message: `missing: ${list}; this user may not install packages`,
    fix: `run: ${commandFor(names)}`,
  });
}

/** @returns {Promise<boolean>} */
async function maySudo() {
  if (findExecutable('sudo') === undefined) return false;
  // Away from the terminal, as apt-get will run: a password typed there a minute ago must not count.
  const sudo = spawn('sudo', ['-n', 'true'], { stdio: 'ignore', detached: true });
  return new Promise((resolve) => {
    sudo.once('error', () => resolve(false));
    sudo.once('exit', (code) => resolve(code === 0));
  });
}

/** @param {string[]} names */
function commandFor(names) {
  const install = `apt-get update && apt-get install -y --no-install-recommends ${names.join(' ')}`;
  return `sudo sh -c '${names.includes('postgresql') ? shellWithoutMainCluster(install) : install}'`;
}

/** @param {import('../system-packages.mjs').SystemPackage[]} parts */
function needsOf(parts) {
  return parts.flatMap(({ needs }) => needs).join(', ');
}
