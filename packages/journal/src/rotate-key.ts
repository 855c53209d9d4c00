import { commitEntries, prepareEntries } from './append-entries.ts';
import { type CreateLogDeps, certify, currentLog } from './create-log.ts';
import { bytesOfHex, hexOf } from './format/bytes.ts';
import type { Actor } from './format/entry.ts';
import type { KeyRole } from './format/key-statement.ts';
import { JournalError } from './journal-error.ts';
import type { LogRow } from './store/journal-schema.ts';

export interface RotateDeps extends CreateLogDeps {
  /** Resolves when nothing is on its way that the old key may have signed. */
  settled(): Promise<void>;
}

/**
 * Puts a new key in the place of those in use. First the log says that the new one counts, then it is used, then the log
 * says up to which size the others counted: at no moment is there a signature by a key that did not count. A crash in
 * between leaves several that do, and the next rotation goes on where it stopped and retires them all.
 */
export async function rotateKey(role: KeyRole, actor: Actor, deps: RotateDeps): Promise<void> {
  const { keys } = deps;
  // Before anything is changed: without the root key nothing can be said about the others.
  keys.root();
  const fresh = keys.next[role].make();
  if (!(await activeKeys(role, deps)).includes(hexOf(fresh.publicKey))) {
    await state({ change: 'activated', role, publicKey: fresh.publicKey }, actor, deps);
  }
  keys.next[role].use();
  await deps.settled();
  // The writer takes its turn once more, so that a commit which still had the old key is behind us.
  await commitEntries(deps.database, [], {});
  for (const old of await activeKeys(role, deps)) {
    if (old === hexOf(fresh.publicKey)) continue;
    await state({ change: 'retired', role, publicKey: bytesOfHex(old) as Uint8Array }, actor, deps);
  }
}

/** Hexadecimal, those that the log has not retired. */
async function activeKeys(role: KeyRole, deps: RotateDeps): Promise<readonly string[]> {
  const log = await requireLog(deps);
  const statements = await deps.database.read
    .selectFrom('journal_keys')
    .select(['public_key', 'change'])
    .where('log', '=', log.number)
    .where('role', '=', role)
    .orderBy('seq')
    .execute();
  const retired = new Set(statements.filter(({ change }) => change === 'retired').map(({ public_key }) => public_key));
  return statements
    .filter(({ change, public_key }) => change === 'activated' && !retired.has(public_key))
    .map(({ public_key }) => public_key);
}

async function requireLog({ database }: RotateDeps): Promise<LogRow> {
  const log = await currentLog(database);
  if (log !== undefined) return log;
  throw new JournalError('journal.no_log', 'There is no log whose key could be rotated.');
}

/**
 * How many entries may come between signing that a key is retired and the log saying so. The statement bounds what the
 * key can have signed; where exactly it ended is where the log says so, for from then on the writer refuses it.
 */
const ROOM = 10_000;
const TRIES = 5;

async function state(
  statement: { readonly change: 'activated' | 'retired'; readonly role: KeyRole; readonly publicKey: Uint8Array },
  actor: Actor,
  deps: RotateDeps,
): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    const { origin, size } = await requireLog(deps);
    const position = statement.change === 'activated' ? size : size + ROOM;
    const draft = certify({ ...statement, origin, position }, deps.keys);
    const upTo = size + ROOM;
    try {
      await commitEntries(deps.database, prepareEntries(actor, [draft], deps.clock), { origin, upTo });
      return;
    } catch (error) {
      const wentOn = error instanceof JournalError && error.code === 'journal.not_recorded' && tries < TRIES;
      if (!wentOn) throw error;
    }
  }
}
