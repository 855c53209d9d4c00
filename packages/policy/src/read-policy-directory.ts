import {
  closeSync,
  constants,
  type Dirent,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readSync,
  realpathSync,
  type Stats,
  statSync,
} from 'node:fs';
import { join, sep } from 'node:path';
import { type Sha256Hex, sha256OfParts, visibleText } from '@palyra/primitives';
import { isCanonical } from './canonical-names.ts';
import { PolicyError } from './policy-error.ts';
import type { PolicyFile, PolicyOrigin } from './policy-set.ts';
import type { PolicyTestFile } from './presets.ts';
import { createProblemList } from './problem-list.ts';

export interface PolicyDirectory {
  readonly files: readonly PolicyFile[];
  readonly tests: readonly PolicyTestFile[];
  /** Of every byte that was read: whether there is anything to apply. */
  readonly sourceDigest: Sha256Hex;
}

export interface ReadOptions {
  /** What stands for the directory in names and messages, which never hold a path of this host. */
  readonly shownAs?: string;
}

/** One file, and all files of one kind together. */
const MOST_BYTES = 2 * 1024 * 1024;
const MOST_FILES = 1000;
const WORKSPACES = 'workspaces';

/**
 * The operator's policies and policy tests. A directory that is not there holds none; anything in it that cannot be
 * used throws one `PolicyError` with every file that is at fault, because leaving a file out could leave out a forbid.
 */
export function readPolicyDirectory(directory: string, { shownAs = 'policies' }: ReadOptions = {}): PolicyDirectory {
  const root = realPathOf(directory, shownAs);
  const found = root === undefined ? [] : listFiles(root, shownAs);
  const problems = createProblemList();
  const files: PolicyFile[] = [];
  const tests: PolicyTestFile[] = [];
  const sizes = { policy: 0, test: 0 };
  for (const file of found) {
    // Stopped at the first byte too many: a thousand large files must not be held in memory to be refused.
    problems.collect({ file: file.name }, () => {
      const text = readText(file);
      sizes[file.kind] += Buffer.byteLength(text);
      if (sizes[file.kind] > MOST_BYTES) throw tooMuch(shownAs);
      (file.kind === 'policy' ? files : tests).push({ name: file.name, text, origin: file.origin });
    });
  }
  problems.throwAny();
  const parts = [...files, ...tests].flatMap(({ name, text }) => [name, text]);
  return { files, tests, sourceDigest: sha256OfParts('palyra:policy-directory', parts) };
}

interface FoundFile {
  readonly kind: 'policy' | 'test';
  readonly path: string;
  /** The directory that nothing may lead out of. */
  readonly root: string;
  readonly name: string;
  readonly origin: PolicyOrigin;
}

function realPathOf(directory: string, shownAs: string): string | undefined {
  try {
    return realpathSync(directory);
  } catch (thrown) {
    // SECURITY: T-09 — a link whose target is away is not the same as no policies: its forbids would be gone.
    const isAbsent = errorCode(thrown) === 'ENOENT' && lstatSync(directory, { throwIfNoEntry: false }) === undefined;
    if (isAbsent) return undefined;
    throw toUnreadable(shownAs, thrown);
  }
}

function listFiles(root: string, shownAs: string): readonly FoundFile[] {
  const operator = { kind: 'operator' } as const;
  const workspaces = `${shownAs}/${WORKSPACES}`;
  const top = listDirectory(root, shownAs);
  const below = top.some(({ name }) => name === WORKSPACES) ? listDirectory(join(root, WORKSPACES), workspaces) : [];
  if (top.length + below.length > MOST_FILES) {
    const message = `${visibleText(shownAs)} holds over ${MOST_FILES} files.`;
    throw new PolicyError('policy.too_large', message, { fix: 'Put more policies into one file.' });
  }
  const problems = createProblemList();
  const found = [
    ...top
      .filter(({ name }) => name !== WORKSPACES)
      .map((entry) => ({ entry, directory: root, shown: shownAs, originOf: () => operator })),
    ...below.map((entry) => ({ entry, directory: join(root, WORKSPACES), shown: workspaces, originOf: workspaceOf })),
  ].flatMap(({ entry, directory, shown, originOf }) => {
    const name = visibleText(`${shown}/${entry.name}`);
    const kind = kindOf(entry);
    if (kind === undefined) return [];
    const origin = problems.collect({ file: name }, () => {
      if (kind === 'other') throw unread(name);
      return originOf(entry.name, name);
    });
    return origin === undefined || kind === 'other'
      ? []
      : [{ kind, path: join(directory, entry.name), root, name, origin }];
  });
  problems.throwAny();
  return found;
}

function listDirectory(path: string, shownAs: string): readonly Dirent[] {
  try {
    refuseUnlessOurs(statSync(path), { name: visibleText(shownAs), path });
    // By code unit, so that the order is the same on every machine.
    return readdirSync(path, { withFileTypes: true }).toSorted((a, b) => (a.name < b.name ? -1 : 1));
  } catch (thrown) {
    throw toUnreadable(shownAs, thrown);
  }
}

/** Hidden files are editors' own. A directory that nobody reads could hold a forbid that its author believes in. */
function kindOf(entry: Dirent): 'policy' | 'test' | 'other' | undefined {
  if (entry.name.startsWith('.')) return undefined;
  if (entry.name.endsWith('.cedar')) return 'policy';
  if (entry.name.endsWith('.policytest.toml')) return 'test';
  // What its author may take for policies is refused, not passed over: a directory, a link to one, another spelling.
  const looksLikePolicies =
    entry.isDirectory() || entry.isSymbolicLink() || /\.(?:cedar|policytest\.toml)$/i.test(entry.name);
  return looksLikePolicies ? 'other' : undefined;
}

function workspaceOf(file: string, name: string): PolicyOrigin {
  // A plus is in no id, so that no workspace has a file that is another one's.
  const workspace = file.replace(/(?:\+always)?\.(?:cedar|policytest\.toml)$/, '');
  if (isCanonical('id', workspace)) return { kind: 'workspace', workspace };
  throw new PolicyError('policy.unreadable', `${name} does not carry the name of a workspace.`, {
    fix: 'Name it after the workspace it is about: palyra workspace list',
  });
}

function readText({ path, root, name }: FoundFile): string {
  let descriptor: number | undefined;
  try {
    const target = realpathSync(path);
    // SECURITY: T-09 — a link out of the directory would let whoever owns its target write policies.
    if (!target.startsWith(`${root}${sep}`)) {
      throw unreadable(name, 'is a link that leads out of the directory', 'Put the file itself there.');
    }
    // O_NONBLOCK: opening a named pipe would otherwise wait for a writer that never comes.
    descriptor = openSync(target, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
    const stats = fstatSync(descriptor);
    if (!stats.isFile()) {
      const kind = stats.isDirectory() ? 'a directory' : 'not an ordinary file';
      throw unreadable(name, `is ${kind}`, 'Put an ordinary file there, or remove it.');
    }
    refuseUnlessOurs(stats, { name, path });
    return decode(readAtMost(descriptor, { limit: MOST_BYTES + 1, expected: stats.size }), name);
  } catch (thrown) {
    throw toUnreadable(name, thrown);
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

/** Root can write every file anyway, so a file of root is as good as our own. Without uids (Windows) nothing is judged. */
function refuseUnlessOurs({ uid, mode }: Stats, { name, path }: { name: string; path: string }): void {
  const ourUid = process.geteuid?.();
  if (ourUid === undefined) return;
  // SECURITY: T-09 — whoever can write this file decides what agents may do.
  if (uid !== ourUid && uid !== 0) {
    const fix = `Look through it, then run: chown ${ourUid} ${shellWord(path)}`;
    throw new PolicyError('policy.unsafe_permissions', `${name} belongs to another user (uid ${uid}).`, { fix });
  }
  if ((mode & 0o022) === 0) return;
  const octal = (mode & 0o7777).toString(8).padStart(4, '0');
  const fix = `Look through it, then run: chmod go-w ${shellWord(path)}`;
  throw new PolicyError('policy.unsafe_permissions', `${name} can be changed by other users (mode ${octal}).`, { fix });
}

function readAtMost(descriptor: number, { limit, expected }: { limit: number; expected: number }): Uint8Array {
  const buffer = Buffer.alloc(Math.min(limit, expected + 1));
  let length = 0;
  while (length < buffer.length) {
    const count = readSync(descriptor, buffer, length, buffer.length - length, null);
    if (count === 0) break;
    length += count;
  }
  return buffer.subarray(0, length);
}

function decode(bytes: Uint8Array, name: string): string {
  if (bytes.length > MOST_BYTES) {
    throw new PolicyError('policy.too_large', `${name} is over ${MOST_BYTES / 1024 / 1024} MiB.`, {
      fix: 'All policies together may be that large; this is too large to be a policy file.',
    });
  }
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(bytes);
  } catch {
    throw unreadable(name, 'is not UTF-8 text', 'Save it as UTF-8.');
  }
}

function tooMuch(shownAs: string): PolicyError {
  const message = `The files of one kind in ${visibleText(shownAs)} are over ${MOST_BYTES / 1024 / 1024} MiB together.`;
  return new PolicyError('policy.too_large', message, { fix: 'Remove what is not needed, or merge policies.' });
}

function unread(name: string): PolicyError {
  return unreadable(name, 'is a directory that is not read', `Move its files up, or below ${WORKSPACES}/.`);
}

function toUnreadable(name: string, thrown: unknown): PolicyError {
  if (thrown instanceof PolicyError) return thrown;
  switch (errorCode(thrown)) {
    case 'EACCES':
    case 'EPERM':
      return unreadable(name, 'may not be read by this user', 'Run as its owner, or let this user read it.', thrown);
    case 'ELOOP':
      return unreadable(name, 'is a symbolic link that leads back to itself', 'Remove the link.', thrown);
    case 'ENOENT':
      return unreadable(name, 'is a link to a file that is not there', 'Remove it or restore its target.', thrown);
    case 'ENOTDIR':
      return unreadable(name, 'is not a directory', 'Put a directory there, or remove it.', thrown);
    default:
      return unreadable(name, 'could not be read', 'Check the disk and the path.', thrown);
  }
}

function unreadable(name: string, sentence: string, fix: string, cause?: unknown): PolicyError {
  return new PolicyError('policy.unreadable', `${visibleText(name)} ${sentence}.`, { fix, cause });
}

/** A path as one word of a command that a person copies. Nothing is ever run from it. */
function shellWord(path: string): string {
  const shown = visibleText(path);
  return /^[\w@%+=:,./-]+$/.test(shown) ? shown : `'${shown.replaceAll("'", "'\\''")}'`;
}

function errorCode(thrown: unknown): string {
  return thrown instanceof Error && 'code' in thrown ? String(thrown.code) : '';
}
