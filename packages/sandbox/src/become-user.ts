import { lstatSync } from 'node:fs';
import { SandboxError } from './sandbox-error.ts';

/** An ordinary user and group of the host. */
export interface HostUser {
  readonly uid: number;
  readonly gid: number;
}

/**
 * Gives up root for good: groups, capabilities and every way back. What changes its user is undumpable from then on, so
 * that others with this uid do not see into it. Throws `sandbox.unsafe_identity`, and then nothing may be done any more.
 */
export function becomeUser(user: HostUser): void {
  refuseUnordinary(user);
  const { setgroups, setgid, setuid } = changesOfUser();
  // SECURITY: T-42 — groups first and the uid last: afterwards neither could be changed, and docker's group is root's.
  if (!succeeds(() => [setgroups([]), setgid(user.gid), setuid(user.uid)])) {
    throw unsafe('Root could not be given up.', 'Leave palyrad CAP_SETUID and CAP_SETGID: it gives them up with root.');
  }
  if (!isOnly(user) || canBeRoot()) throw unsafe('Root could not be given up.', 'Start palyrad from systemd, or sudo.');
  if (isDumpable(user)) {
    const fix = 'sysctl fs.suid_dumpable=0: else whoever has this user reads what root had in memory.';
    throw unsafe('A process that gave up root can be looked into on this machine.', fix);
  }
}

/** Does it with this user's rights, and has root's back afterwards: for what root must not look at by itself. */
export async function actAs<T>(user: HostUser, act: () => Promise<T>): Promise<T> {
  refuseUnordinary(user);
  const { setgroups, setegid, seteuid } = changesOfUser();
  setgroups([]);
  setegid(user.gid);
  seteuid(user.uid);
  try {
    return await act();
  } finally {
    seteuid(0);
    setegid(0);
  }
}

function changesOfUser(): Changes {
  const { setgroups, setgid, setuid, setegid, seteuid } = process;
  if (process.geteuid?.() !== 0 || !setgroups || !setgid || !setuid || !setegid || !seteuid) {
    throw unsafe('Only root can become another user.', 'Start palyrad as root: it gives that up at once.');
  }
  return { setgroups, setgid, setuid, setegid, seteuid };
}

type Changes = Required<Pick<typeof process, 'setgroups' | 'setgid' | 'setuid' | 'setegid' | 'seteuid'>>;

function refuseUnordinary({ uid, gid }: HostUser): void {
  const isOrdinary = (id: number) => Number.isInteger(id) && id > 0 && id < 2 ** 32 - 1;
  if (!isOrdinary(uid) || !isOrdinary(gid)) {
    throw unsafe('That is no ordinary user.', 'Name a user that is not root and has a group that is not root’s.');
  }
}

/** Real and effective; the saved one shows in `canBeRoot`. */
function isOnly({ uid, gid }: HostUser): boolean {
  const { getuid, geteuid, getgid, getegid, getgroups } = process;
  // Some systems count the group itself.
  const groups = (getgroups?.() ?? []).filter((group) => group !== gid);
  return getuid?.() === uid && geteuid?.() === uid && getgid?.() === gid && getegid?.() === gid && groups.length === 0;
}

/** SECURITY: T-42 — tried, not assumed: a saved uid, or a capability that was kept, would do it. */
function canBeRoot(): boolean {
  return (
    succeeds(() => process.setuid?.(0)) || succeeds(() => process.seteuid?.(0)) || succeeds(() => process.setgid?.(0))
  );
}

/** SECURITY: T-40 — what belongs to root in /proc is closed to those who have the uid. Elsewhere there is no such place. */
function isDumpable({ uid }: HostUser): boolean {
  return lstatSync('/proc/self/mem', { throwIfNoEntry: false })?.uid === uid;
}

function succeeds(act: () => unknown): boolean {
  try {
    act();
    return true;
  } catch {
    return false;
  }
}

function unsafe(message: string, fix: string): SandboxError {
  return new SandboxError('sandbox.unsafe_identity', message, { fix });
}
