import type { Database } from '@palyra/storage';
import { eraseBodyFile } from './bodies/erase-file.ts';
import type { Actor } from './format/entry.ts';
import type { EntryData } from './format/entry-kinds.ts';
import { JournalError } from './journal-error.ts';
import type { Journal } from './open-journal.ts';
import type { JournalSchema } from './store/journal-schema.ts';
import { bodyRow } from './stored-bodies.ts';

export interface EraseDeps {
  readonly database: Pick<Database<JournalSchema>, 'read' | 'scrub'>;
  readonly append: Journal['appendOwn'];
  readonly bodyDirectory: string | undefined;
}

interface Erasure {
  readonly commitment: string;
  readonly reason: EntryData<'body.erased'>['reason'];
}

/**
 * First the record and the row, then the traces: whoever is told that it is done finds the body in none of our files.
 * Without body and salt nobody can tell from the commitment what it was.
 */
export async function eraseBody({ commitment, reason }: Erasure, actor: Actor, deps: EraseDeps): Promise<void> {
  const { place } = await bodyRow(deps.database, commitment);
  const isFirst = place !== 'erased' && (await recordErasure({ commitment, reason }, actor, deps));
  // Also when it was erased before: a full disk may have stopped it half-way.
  if (deps.bodyDirectory !== undefined) await eraseBodyFile(deps.bodyDirectory, commitment);
  // SECURITY: T-54 — until then the old row is still in the write-ahead log.
  await deps.database.scrub();
  if (!isFirst) throw new JournalError('journal.body_erased', 'This body was erased before; nothing of it is left.');
}

async function recordErasure({ commitment, reason }: Erasure, actor: Actor, { append }: EraseDeps): Promise<boolean> {
  const outcome = await append(actor, [{ kind: 'body.erased', data: { body: commitment, reason } }]);
  return outcome.kind === 'appended';
}
