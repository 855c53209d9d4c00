import type { ToolIdentity } from '../launch-plan.ts';
import type { SandboxProfile } from '../profile.ts';
import {
  type Account,
  type Group,
  type IdRange,
  parseGroup,
  parsePasswd,
  parseSubordinateIds,
} from './account-files.ts';

/** Which real uid of the host a tool gets. */
export type IdentityChoice =
  /** The launcher is no root and has only its own. */
  | { readonly kind: 'own' }
  | { readonly kind: 'owner'; readonly uid: number; readonly gid: number }
  /** Nobody's: the workspace reaches it through an idmapped mount. */
  | { readonly kind: 'unused'; readonly uid: number; readonly gid: number }
  | { readonly kind: 'refused'; readonly reason: string; readonly fix: string };

export interface IdentityFacts extends UserFacts {
  readonly launcherUid: number;
  /** Whom the launcher works for, when it works for one user only. */
  readonly only?: ToolIdentity | undefined;
  readonly workspaceOwner: { readonly uid: number; readonly gid: number };
  readonly access: SandboxProfile['workspace']['access'];
}

/** Who there is on the machine. */
export interface UserFacts {
  /** Texts of the files in /etc of these names; empty where there is none. */
  readonly passwd: string;
  readonly group: string;
  readonly subuid: string;
  readonly subgid: string;
  /** Of everything that runs. */
  readonly processUids: readonly number[];
}

const UNUSED = { first: 870_000, count: 10_000 };
/** Shown for ids that this user namespace does not know, and shared by services that trust nobody. */
const OVERFLOW_ID = 65_534;
const HIGHEST_ID = 2 ** 32 - 2;
/** Given out by distributions for devices and system files. */
const FIRST_ORDINARY_GID = 100;

/** Groups whose members reach devices, other users' files, or root itself. */
const POWERFUL_GROUPS = new Set(
  `root wheel sudo admin adm staff operator bin daemon sys system disk kmem mem shadow tty lp lpadmin backup src utmp video
   render input audio cdrom floppy tape dialout uucp plugdev netdev network docker podman lxd lxc incus incus-admin libvirt
   libvirt-qemu libvirtd kvm qemu vboxusers systemd-journal systemd-network systemd-resolve messagebus polkitd ssl-cert
   wireshark crontab ssh _ssh nixbld postgres mysql mail www-data power storage rfkill google-sudoers`.split(/\s+/),
);

/** Whose members are root by a socket, a device or a file, without any setuid program: no_new_privs does not stop them. */
const ROOT_BY_FILE = new Set('root docker lxd incus incus-admin libvirt libvirtd disk kmem mem shadow'.split(' '));

/** Names of those groups among these numbers. */
export function powerfulGroups(gids: readonly number[], group: string): readonly string[] {
  return parseGroup(group)
    .filter(({ gid, name }) => gids.includes(gid) && ROOT_BY_FILE.has(name))
    .map(({ name }) => name);
}

export function chooseIdentity(facts: IdentityFacts): IdentityChoice {
  if (facts.launcherUid !== 0) return { kind: 'own' };
  const { uid } = facts.workspaceOwner;
  if (facts.only !== undefined) return isTheirs(facts, facts.only) ? { kind: 'owner', ...facts.only } : somebodyElses();
  const accounts = readAccounts(facts);

  // SECURITY: T-42 — the inner uid is only a name for the outer one: uid 0 outside is root, whatever it is called inside.
  if (uid === 0) return unusedIdentity(accounts);
  if (!isOrdinary(uid)) {
    return {
      kind: 'refused',
      reason: 'The workspace belongs to nobody, or to an owner that this machine does not know.',
      fix: 'Give the workspace to the user who works in it (chown).',
    };
  }
  const gid = ownerGid(uid, accounts);
  if (gid === undefined) return noneFree();
  return { kind: 'owner', uid, gid };
}

/**
 * SECURITY: T-42 — or root's, to be read: a program of ours, which runs with that user's rights and no others. What they may not
 * read there, it cannot either.
 */
function isTheirs({ workspaceOwner, access }: IdentityFacts, only: ToolIdentity): boolean {
  return workspaceOwner.uid === only.uid || (workspaceOwner.uid === 0 && access === 'read-only');
}

function somebodyElses(): IdentityChoice {
  return {
    kind: 'refused',
    reason: 'The workspace belongs to somebody else than the user this palyrad works for.',
    fix: 'Give the workspace to that user (chown), or set up a palyrad for its owner: `palyra up --print-service`.',
  };
}

interface Accounts {
  readonly accounts: readonly Account[];
  readonly groups: readonly Group[];
  readonly ranges: readonly IdRange[];
  readonly running: ReadonlySet<number>;
}

function readAccounts({ passwd, group, subuid, subgid, processUids }: UserFacts): Accounts {
  return {
    accounts: parsePasswd(passwd),
    groups: parseGroup(group),
    ranges: [...parseSubordinateIds(subuid), ...parseSubordinateIds(subgid)],
    running: new Set(processUids),
  };
}

function isOrdinary(id: number): boolean {
  return Number.isInteger(id) && id > 0 && id <= HIGHEST_ID && id !== OVERFLOW_ID;
}

/** The owner's own group where it means nothing else; a group that nobody has otherwise. */
function ownerGid(uid: number, accounts: Accounts): number | undefined {
  const primary = accounts.accounts.find((account) => account.uid === uid)?.gid;
  // SECURITY: T-42 — the docker or disk group is root by another name, also as a primary group.
  if (primary !== undefined && isOrdinary(primary) && !isPowerful(primary, accounts)) return primary;
  if (uid >= FIRST_ORDINARY_GID && !isKnownGid(uid, accounts)) return uid;
  return firstUnused(accounts);
}

function isPowerful(gid: number, { groups }: Accounts): boolean {
  // Several lines may give one number several names.
  return gid < FIRST_ORDINARY_GID || groups.some((group) => group.gid === gid && POWERFUL_GROUPS.has(group.name));
}

function isKnownGid(gid: number, { accounts, groups, ranges }: Accounts): boolean {
  return (
    groups.some((group) => group.gid === gid) || accounts.some((account) => account.gid === gid) || isIn(gid, ranges)
  );
}

function unusedIdentity(accounts: Accounts): IdentityChoice {
  const id = firstUnused(accounts);
  return id === undefined ? noneFree() : { kind: 'unused', uid: id, gid: id };
}

/** The lowest, so that the same machine gives the same answer. */
function firstUnused(accounts: Accounts): number | undefined {
  for (let id = UNUSED.first; id < UNUSED.first + UNUSED.count; id += 1) if (isUnused(id, accounts)) return id;
  return undefined;
}

/** From the other end: never the one that a tool gets. */
export function lastUnusedId(facts: UserFacts): number | undefined {
  const accounts = readAccounts(facts);
  for (let id = UNUSED.first + UNUSED.count - 1; id > UNUSED.first; id -= 1) if (isUnused(id, accounts)) return id;
  return undefined;
}

/** Neither as a uid nor as a gid anybody's. */
function isUnused(id: number, accounts: Accounts): boolean {
  const isAccount = accounts.accounts.some(({ uid }) => uid === id);
  // SECURITY: T-40 — a uid that runs something could be signalled and read through /proc by the tool.
  return !isAccount && !isKnownGid(id, accounts) && !accounts.running.has(id);
}

function isIn(id: number, ranges: readonly IdRange[]): boolean {
  return ranges.some(({ first, count }) => id >= first && id < first + count);
}

function noneFree(): IdentityChoice {
  return {
    kind: 'refused',
    reason: `Every uid from ${UNUSED.first} to ${UNUSED.first + UNUSED.count - 1} is somebody's.`,
    fix: 'Give the workspace to an ordinary user (chown), or free that range in /etc/subuid and /etc/subgid.',
  };
}
