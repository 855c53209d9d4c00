import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { processPlace, processStart } from '@palyra/primitives';
import { IdentityError } from '../identity-error.ts';
import { createPrivateFile } from './private-files.ts';

const CLAIM = '.claim';
const OLD_MS = 600_000;

/**
 * Does one thing while no other process does one in the same directory. Everybody says first that they are there, under a
 * name that nobody else has, and looks then: of two at once the later one sees the other, and at worst neither acts.
 * Nothing is ever taken away from a holder, so nobody can take it from the wrong one. Throws `identity.ca_busy`.
 */
export async function holdDirectory<Result>(directory: string, act: () => Promise<Result>): Promise<Result> {
  const own = `${process.pid}-${randomBytes(8).toString('hex')}${CLAIM}`;
  createPrivateFile(join(directory, own), `${process.pid} ${processStart(process.pid) ?? '-'} ${processPlace()}\n`);
  try {
    refuseOthers(directory, own);
    return await act();
  } finally {
    rmSync(join(directory, own), { force: true });
  }
}

/** SECURITY: T-35 — or two that change the authorities at once each destroy the key that the other one lists. */
function refuseOthers(directory: string, own: string): void {
  for (const name of readdirSync(directory).filter((each) => each.endsWith(CLAIM) && each !== own)) {
    const path = join(directory, name);
    if (!isAbandoned(path)) throw busy();
    rmSync(path, { force: true });
  }
}

/** Of a process that is gone. Where that cannot be looked up, because it is elsewhere, its age decides. */
function isAbandoned(path: string): boolean {
  try {
    const [, pid, start, where] = /^(\d{1,10}) (\S+) (.*)\n$/.exec(readFileSync(path, 'utf8')) ?? [];
    if (pid === undefined || start === '-' || where !== processPlace())
      return Date.now() - statSync(path).mtimeMs > OLD_MS;
    return processStart(Number(pid)) !== start;
  } catch {
    // Let go of in this moment.
    return true;
  }
}

function busy(): IdentityError {
  return new IdentityError('identity.ca_busy', 'Another process is changing the certificate authority of this home.', {
    fix: 'Run it again in a moment.',
  });
}
