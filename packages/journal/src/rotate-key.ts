import { commitEntries, prepareEntries } from './append-entries.ts';
import { type CreateLogDeps, certify, currentLog } from './create-log.ts';
import type { Actor } from './format/entry.ts';
import type { KeyRole } from './format/key-statement.ts';
import { JournalError } from './journal-error.ts';

export interface RotateDeps extends CreateLogDeps {
  /** Resolves when nothing is on its way that the old key may have signed. */
  settled(): Promise<void>;
}

/**
 * Puts a new key in the place of the one in use. First the log says that the new one counts, then it is used, then the
 * log says up to which size the old one counted: at no moment is there a signature by a key that did not count, and a
 * crash in between leaves two keys that do.
 */
export async function rotateKey(role: KeyRole, actor: Actor, deps: RotateDeps): Promise<void> {
  const { keys } = deps;
  const old = keys.of(role).publicKey;
  keys.root();
  const fresh = keys.next[role].make();
  try {
    await state({ change: 'activated', role, publicKey: fresh.publicKey }, actor, deps);
  } catch (error) {
    keys.next[role].forget();
    throw error;
  }
  keys.next[role].use();
  await deps.settled();
  // The writer takes its turn once more, so that a commit which still had the old key is behind us.
  await commitEntries(deps.database, [], {});
  await state({ change: 'retired', role, publicKey: old }, actor, deps);
}

async function state(
  statement: { readonly change: 'activated' | 'retired'; readonly role: KeyRole; readonly publicKey: Uint8Array },
  actor: Actor,
  { database, keys, clock }: RotateDeps,
): Promise<void> {
  const log = await currentLog(database);
  if (log === undefined) throw new JournalError('journal.no_log', 'There is no log whose key could be rotated.');
  const draft = certify({ ...statement, origin: log.origin, position: log.size }, keys);
  await commitEntries(database, prepareEntries(actor, [draft], clock), {});
}

/** A rotation that a crash interrupted after the log knew the new key is finished; before that, it never was. */
export async function finishRotation({ database, keys }: Pick<CreateLogDeps, 'database' | 'keys'>): Promise<void> {
  for (const role of ['checkpoint', 'attestation'] as const) {
    const publicKey = keys.next[role].publicKey();
    if (publicKey === undefined) continue;
    const known = await database.read
      .selectFrom('journal_keys')
      .select('seq')
      .where('public_key', '=', publicKey)
      .executeTakeFirst();
    if (known === undefined) keys.next[role].forget();
    else keys.next[role].use();
  }
}
