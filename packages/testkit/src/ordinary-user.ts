import { execFileSync, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { chmod, chown, mkdir } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { processIds, userIdsOf } from './process-table.ts';
import { copyCheckout, copyIntoCheckout } from './readable-checkout.ts';
import { createRunDirectory, type RunDirectory } from './run-directory.ts';

/** Either a TypeScript file of the checkout, run by our Node with the sources of our packages, or any command. */
export type OrdinaryUserCommand = OrdinaryUserOptions &
  ({ readonly script: string; readonly args?: readonly string[] } | { readonly argv: readonly [string, ...string[]] });

export interface OrdinaryUserOptions {
  /** Added to PATH, HOME and TMPDIR; nothing else of our environment is passed on. */
  readonly env?: Readonly<Record<string, string>>;
  /** The user's own home unless told. */
  readonly cwd?: string;
  readonly stdin?: string;
  /** After which it is killed with its process group; 30 s unless told. */
  readonly timeoutMs?: number;
}

export interface OrdinaryUserOutcome {
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Who the command runs as, and the directories made for it. */
export interface OrdinaryUser {
  readonly uid: number;
  /** 0700, the user's own. */
  readonly home: string;
  /** The checkout the user can read: a copy when we are root, else the checkout itself. */
  readonly checkout: string;
}

const CHECKOUT = fileURLToPath(new URL('../../../', import.meta.url));
const TIMEOUT_MS = 30_000;
/** Above login accounts and systemd's dynamic users, below the ranges handed out for user namespaces. */
const [UID_MIN, UID_MAX] = [70_000, 99_999];

let prepared: Promise<Prepared> | undefined;

interface Prepared {
  readonly user: OrdinaryUser;
  readonly directory: RunDirectory;
}

/**
 * Runs one command without privileges. As root it takes a user id nobody has, so no account is created, and a copy of the
 * sources, because the checkout may lie below a directory only root can enter. Otherwise it runs as we are.
 */
export async function runAsOrdinaryUser(command: OrdinaryUserCommand): Promise<OrdinaryUserOutcome> {
  const user = await ordinaryUser();
  const [file, ...args] = withIdentity(user, await argvOf(command, user));
  const child = spawn(file, args, {
    cwd: command.cwd ?? user.home,
    env: {
      PATH: '/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin',
      HOME: user.home,
      TMPDIR: user.home,
      ...command.env,
    },
    stdio: ['pipe', 'pipe', 'pipe'],
    // A process group of its own, so that a timeout ends its children too.
    detached: true,
  });
  const timer = setTimeout(() => endGroup(child.pid), command.timeoutMs ?? TIMEOUT_MS);
  try {
    // A command that ends without reading its input is not a fault of ours.
    child.stdin.on('error', () => {});
    child.stdin.end(command.stdin ?? '');
    const [stdout, stderr, [exitCode, signal]] = await Promise.all([
      buffer(child.stdout),
      buffer(child.stderr),
      once(child, 'close'),
    ]);
    return { exitCode, signal, stdout: stdout.toString(), stderr: stderr.toString() };
  } finally {
    clearTimeout(timer);
  }
}

/** The user of this process's tests, made on first use and removed when the process exits. */
export async function ordinaryUser(): Promise<OrdinaryUser> {
  prepared ??= prepare();
  return (await prepared).user;
}

/** Removes the copy and the home early, for an `afterAll`; the next call makes them anew. */
export async function removeOrdinaryUser(): Promise<void> {
  const former = await prepared;
  prepared = undefined;
  await former?.directory.remove();
}

async function prepare(): Promise<Prepared> {
  const directory = await createRunDirectory('user');
  const home = join(directory.path, 'home');
  await mkdir(home, { mode: 0o700 });
  const ourUid = process.getuid?.() ?? 0;
  if (ourUid !== 0) return { directory, user: { uid: ourUid, home, checkout: CHECKOUT } };

  const uid = freeUid();
  const checkout = join(directory.path, 'checkout');
  await chmod(directory.path, 0o711);
  await chown(home, uid, uid);
  await copyCheckout(CHECKOUT, checkout);
  return { directory, user: { uid, home, checkout } };
}

function freeUid(): number {
  const inUse = new Set(processIds().flatMap(userIdsOf));
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const uid = randomInt(UID_MIN, UID_MAX + 1);
    if (!inUse.has(uid) && !hasAccount(uid)) return uid;
  }
  throw new Error(`No free user id between ${UID_MIN} and ${UID_MAX}.`);
}

/** getent asks every source of accounts, not only /etc/passwd; it fails when there is none. */
function hasAccount(uid: number): boolean {
  try {
    execFileSync('getent', ['passwd', String(uid)], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

async function argvOf(command: OrdinaryUserCommand, user: OrdinaryUser): Promise<string[]> {
  if ('argv' in command) return [...command.argv];
  const path = relative(CHECKOUT, resolve(CHECKOUT, command.script));
  if (path.startsWith('..')) throw new Error(`The script lies outside the checkout: ${command.script}`);
  const isCopy = user.checkout !== CHECKOUT;
  if (isCopy) await copyIntoCheckout(CHECKOUT, user.checkout, path);
  const node = isCopy ? join(user.checkout, 'bin/node') : process.execPath;
  return [node, '--conditions=palyra-source', join(user.checkout, path), ...(command.args ?? [])];
}

function withIdentity({ uid }: OrdinaryUser, argv: readonly string[]): [string, ...string[]] {
  const [file = '', ...args] = argv;
  if (process.getuid?.() !== 0) return [file, ...args];
  const identity = [`--reuid=${uid}`, `--regid=${uid}`, '--clear-groups', '--inh-caps=-all', '--no-new-privs'];
  return ['setpriv', ...identity, '--pdeathsig=KILL', '--', file, ...args];
}

function endGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // It ended just now.
  }
}
