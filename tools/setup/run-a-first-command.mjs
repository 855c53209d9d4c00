// One command as a newcomer would give it, in a home and a folder that are gone afterwards. Run by the set-up step.
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const PALYRA = fileURLToPath(new URL('../../apps/cli/bin/palyra.mjs', import.meta.url));

const place = mkdtempSync(join(tmpdir(), 'palyra-first-'));
try {
  const workspace = join(place, 'workspace');
  mkdirSync(workspace);
  // oxlint-disable-next-line node/no-process-env -- the user's own, but for the home
  const env = { ...process.env, PALYRA_HOME: join(place, 'home') };
  /** @param {string[]} args */
  const palyra = (...args) => spawnSync(process.execPath, [PALYRA, ...args], { cwd: workspace, env, stdio: 'inherit' });

  const { status } = palyra('exec', '--', 'true');
  const daemon = pidOf(join(env.PALYRA_HOME, 'palyrad.json'));
  palyra('down');
  // It says that it ends before it is gone.
  while (daemon !== undefined && isAlive(daemon)) await new Promise((resolve) => setTimeout(resolve, 50));
  process.exitCode = status ?? 1;
} finally {
  rmSync(place, { recursive: true, force: true });
}

/** @param {string} file */
function pidOf(file) {
  try {
    return Number(JSON.parse(readFileSync(file, 'utf8')).pid);
  } catch {
    return undefined;
  }
}

/** @param {number} pid */
function isAlive(pid) {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
