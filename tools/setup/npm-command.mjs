import { existsSync } from 'node:fs';
import { findExecutable } from './find-executable.mjs';
import { SetupError } from './setup-error.mjs';

/** The npm that started us, else the one in PATH. @returns {string[]} */
export function npmCommand() {
  const startedBy = process.env['npm_execpath'];
  if (startedBy !== undefined && /\.[cm]?js$/.test(startedBy) && existsSync(startedBy)) {
    return [process.env['npm_node_execpath'] ?? process.execPath, startedBy];
  }
  const npm = findExecutable(process.platform === 'win32' ? 'npm.cmd' : 'npm');
  if (npm !== undefined) return [npm];
  throw new SetupError({
    code: 'setup.npm_missing',
    message: 'npm is not in PATH',
    fix: 'install Node 18 or newer with npm, then run this again.',
  });
}
