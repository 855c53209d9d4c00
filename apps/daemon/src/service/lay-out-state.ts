import { chmodSync, chownSync, lstatSync, mkdirSync, type Stats } from 'node:fs';
import { dirname } from 'node:path';
import type { ServiceLayout } from '@palyra/config';
import type { HostUser } from '@palyra/sandbox';
import { ServiceError } from './service-error.ts';

export interface StateOwners {
  readonly daemon: HostUser;
  readonly owner: HostUser;
}

const ROOT: HostUser = { uid: 0, gid: 0 };

/** Makes what is missing. To be called by root. Throws `service.unsafe_state` for what is there and somebody else's. */
export function layOutState({ state, home, kept }: ServiceLayout, { daemon, owner }: StateOwners): void {
  refuseReplaceable(dirname(state));
  ensureDirectory(state, ROOT, 0o711);
  // SECURITY: T-40 — CA, journal key, policies and database: of palyrad's user, and closed to the one that tools have.
  ensureDirectory(home, daemon, 0o700);
  ensureDirectory(kept, owner, 0o700);
}

/** SECURITY: T-42 — in a directory that others write they could put a link, and root would make and give away what it names. */
function refuseReplaceable(directory: string): void {
  for (let at = directory; ; at = dirname(at)) {
    const found = statOf(at);
    const isOpen = found !== undefined && (found.mode & 0o022) !== 0 && (found.mode & 0o1000) === 0;
    if (found === undefined || !found.isDirectory() || found.uid !== 0 || isOpen) {
      throw unsafe(at, 'is not root’s alone', 'Choose a place below root’s own directories, such as /var/lib/palyra.');
    }
    if (at === '/') return;
  }
}

function ensureDirectory(path: string, { uid, gid }: HostUser, mode: number): void {
  const found = statOf(path);
  if (found === undefined) {
    mkdirSync(path, { mode: 0o700 });
    chmodSync(path, mode);
    chownSync(path, uid, gid);
    return;
  }
  const isSafe = found.isDirectory() && found.uid === uid && (found.mode & 0o7777 & ~mode) === 0;
  if (isSafe) return;
  throw unsafe(
    path,
    'belongs to somebody else, or is open to others',
    `chown ${uid}:${gid} and chmod ${mode.toString(8)} it, or move it away.`,
  );
}

function statOf(path: string): Stats | undefined {
  return lstatSync(path, { throwIfNoEntry: false });
}

function unsafe(path: string, sentence: string, fix: string): ServiceError {
  return new ServiceError('service.unsafe_state', `${path} ${sentence}.`, { fix });
}
