import type { Clock, IdSource } from '@palyra/primitives';
import type { Database } from '@palyra/storage';
import { commitEntries, type Draft, prepareEntries } from './append-entries.ts';
import { hexOf } from './format/bytes.ts';
import { type Actor, parseActor } from './format/entry.ts';
import { type KeyStatement, signKeyStatement } from './format/key-statement.ts';
import { decodeFrontier, rootOf } from './format/merkle-tree.ts';
import { JournalError } from './journal-error.ts';
import type { JournalKeys } from './keys/journal-keys.ts';
import { nodeSha256 } from './node-crypto.ts';
import type { JournalSchema, LogRow } from './store/journal-schema.ts';

export interface CreateLogDeps {
  readonly database: Database<JournalSchema>;
  readonly keys: JournalKeys;
  readonly clock: Clock;
  readonly ids: IdSource;
}

/** What this program does of its own accord. */
export const DAEMON: Actor = parseActor('daemon:palyrad');

/** Begins the first log of a database, with keys that are made now. Returns its origin. */
export async function createLog(deps: CreateLogDeps): Promise<string> {
  deps.keys.create();
  const origin = newOrigin(deps);
  await begin(origin, [{ kind: 'log.created', data: { ...rootKeyOf(deps), reason: 'created' } }], deps);
  deps.keys.publish();
  return origin;
}

export interface RecoverLogDeps extends CreateLogDeps {
  /** Whether a root key may be made, or another one used, when that of the old log is not there. */
  readonly newRootKey?: boolean;
}

export interface RecoveredLog {
  readonly origin: string;
  /** Absent: there was no old log in the database. */
  readonly previous?: string;
  /** The verifier key of another root than the old log had: whoever pinned that one must pin this. */
  readonly newRootKey?: string;
}

/**
 * Begins a new log that names the last head of the old one, in the open: after a backup was put back, the old log would
 * differ from what others remember of it, and must not go on under its name. Throws `journal.key_missing` when the root key of the old log is not there.
 */
export async function recoverLog(deps: RecoverLogDeps): Promise<RecoveredLog> {
  const old = await currentLog(deps.database);
  const isSameRoot = hasRootKey(deps.keys, old);
  // SECURITY: T-53 — a root key that is made in silence takes the place of the pinned one, as a thief's log would.
  if (!isSameRoot && deps.newRootKey !== true) throw rootKeyMissing();
  deps.keys.create();
  const origin = newOrigin(deps);
  const previous =
    old === undefined ? {} : { previous_origin: old.origin, previous_size: old.size, previous_root: rootHex(old) };
  await begin(origin, [{ kind: 'log.created', data: { ...rootKeyOf(deps), reason: 'recovered', ...previous } }], {
    ...deps,
    ...(old === undefined ? {} : { after: { origin: old.origin, size: old.size } }),
  });
  const vkey = deps.keys.publish();
  return {
    origin,
    ...(old === undefined ? {} : { previous: old.origin }),
    ...(isSameRoot ? {} : { newRootKey: vkey }),
  };
}

function hasRootKey(keys: JournalKeys, old: LogRow | undefined): boolean {
  try {
    const rootKey = hexOf(keys.root().publicKey);
    return old === undefined || old.root_key === rootKey;
  } catch (error) {
    if (error instanceof JournalError && error.code === 'journal.key_missing') return false;
    throw error;
  }
}

function rootKeyMissing(): JournalError {
  return new JournalError('journal.key_missing', 'The root key of the old log is not in this home.', {
    fix:
      'Bring identity/journal-root.key back from where you keep it. If it is lost for good, give --new-root-key; then ' +
      'everybody who pinned the old key must pin the new one.',
  });
}

export async function currentLog(database: Pick<Database<JournalSchema>, 'read'>): Promise<LogRow | undefined> {
  return database.read.selectFrom('journal_logs').selectAll().orderBy('number', 'desc').limit(1).executeTakeFirst();
}

async function begin(
  origin: string,
  first: readonly Draft[],
  {
    database,
    keys,
    clock,
    after,
  }: CreateLogDeps & { readonly after?: { readonly origin: string; readonly size: number } },
): Promise<void> {
  const drafts = [
    ...first,
    certify({ origin, change: 'activated', role: 'checkpoint', position: 0 }, keys),
    certify({ origin, change: 'activated', role: 'attestation', position: 0 }, keys),
  ];
  const create = { origin, rootKey: hexOf(keys.root().publicKey), ...(after === undefined ? {} : { after }) };
  const outcome = await commitEntries(database, prepareEntries(DAEMON, drafts, clock), { create });
  if (outcome.kind === 'conflict') throw new JournalError('journal.not_recorded', 'The log could not be begun.');
}

/** The entry that says, with the root key's signature, from or until when a key of ours counts. */
export function certify(
  { publicKey, ...statement }: Omit<KeyStatement, 'public_key'> & { readonly publicKey?: Uint8Array },
  keys: JournalKeys,
): Draft {
  const public_key = hexOf(publicKey ?? keys.of(statement.role).publicKey);
  const { origin: _, ...data } = signKeyStatement({ ...statement, public_key }, keys.root());
  return { kind: 'key.changed', data };
}

function rootKeyOf({ keys }: CreateLogDeps): { readonly root_key: string } {
  return { root_key: hexOf(keys.root().publicKey) };
}

function newOrigin({ ids }: CreateLogDeps): string {
  return `palyra/${ids.newId('node')}`;
}

function rootHex({ size, frontier: bytes }: LogRow): string {
  const frontier = decodeFrontier(size, bytes);
  if (frontier === undefined) throw new JournalError('journal.not_recorded', 'The head of the old log is damaged.');
  return hexOf(rootOf(frontier, nodeSha256));
}
