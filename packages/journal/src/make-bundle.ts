import type { ReadQueries } from '@palyra/storage';
import { openBodyFiles } from './bodies/read-body.ts';
import { newestCosigned, newestStoredCheckpoint } from './cosigned-checkpoint.ts';
import { attestationIn, type ToolAttestation } from './format/attestation.ts';
import { base64Of, bytesOfHex, hexOf, textOf } from './format/bytes.ts';
import { openEnvelope } from './format/dsse.ts';
import { readEntry } from './format/entry.ts';
import type { EntryData } from './format/entry-kinds.ts';
import { JournalError } from './journal-error.ts';
import { rootVkey } from './keys/journal-keys.ts';
import { idOf, within } from './store/entry-id.ts';
import type { EntryRow, JournalSchema, LogRow } from './store/journal-schema.ts';
import { bodyRow } from './stored-bodies.ts';
import { BUNDLE_FORMAT, type BundledBody, writeBundle } from './verify/bundle-format.ts';
import { keysBefore, provenEntry, writtenEntry } from './written-parts.ts';

export interface BundleDeps {
  readonly read: ReadQueries<JournalSchema>;
  readonly bodyDirectory: string | undefined;
}

export interface BundleOptions {
  /** Whether the input and the output come along. Their salts do in any case, so that whoever has them can check them. */
  readonly bodies: boolean;
}

/**
 * The text of the bundle of one call. Throws `journal.not_found` when the call has no attestation here (yet, or any
 * more), `journal.body_erased` when that was erased, and as reading bodies does.
 */
export async function makeBundle(deps: BundleDeps, callId: string, { bodies }: BundleOptions): Promise<string> {
  const { read } = deps;
  const { row, log } = await attestationOf(callId, read);
  const data = attestationData(row);
  const envelope = await readBody(data.envelope, deps);
  const attestation = attestationIn(openEnvelope(textOf(envelope.bytes) ?? ''));
  const anchor = await entryAt({ log: log.number, seq: data.anchor_seq }, read);
  const checkpoint =
    (await newestCosigned(read, { log: log.number, covering: row.seq + 1 })) ??
    (await newestStoredCheckpoint(read, log.number));
  const { size, note } = checkpoint;
  return writeBundle({
    format: BUNDLE_FORMAT,
    origin: log.origin,
    root_key: rootVkey(bytesOfHex(log.root_key) ?? new Uint8Array()),
    keys: await keysBefore(read, log, size),
    checkpoint: note,
    attestation: await provenEntry(writtenEntry(row), { log: log.number, size }, read),
    anchor: await provenEntry(writtenEntry(anchor), { log: log.number, size }, read),
    envelope: { salt: hexOf(envelope.salt), text: textOf(envelope.bytes) as string },
    execution: { salt: hexOf((await readBody(data.execution, deps)).salt) },
    ...(await bundledBodies(attestation, deps, { bodies })),
    snapshot: await snapshotText(attestation.policy_snapshot_sha256, read),
  });
}

/** The newest, in whichever log of the database it is. */
async function attestationOf(
  callId: string,
  read: ReadQueries<JournalSchema>,
): Promise<{ readonly row: EntryRow; readonly log: LogRow }> {
  const logs = await read.selectFrom('journal_logs').selectAll().orderBy('number', 'desc').execute();
  for (const log of logs) {
    const row = await read
      .selectFrom('journal_entries')
      .selectAll()
      .where('call_id', '=', callId)
      .where(within(log.number))
      .where('kind', '=', 'attestation')
      .orderBy('id', 'desc')
      .limit(1)
      .executeTakeFirst();
    if (row !== undefined) return { row, log };
  }
  throw new JournalError('journal.not_found', 'There is no attestation of this call in the journal.', {
    fix: 'Give the id of a call that is over; if its entries were pruned, look in the archive.',
  });
}

function attestationData(row: EntryRow): EntryData<'attestation'> {
  const entry = readEntry({ ...row, time: row.at });
  if (entry.kind === 'attestation') return entry.data;
  throw new JournalError('journal.invalid_entry', 'An attestation was looked for, and another entry was found.');
}

async function entryAt(
  { log, seq }: { readonly log: number; readonly seq: number },
  read: ReadQueries<JournalSchema>,
): Promise<EntryRow> {
  const row = await read.selectFrom('journal_entries').selectAll().where('id', '=', idOf(log, seq)).executeTakeFirst();
  if (row !== undefined) return row;
  throw new JournalError('journal.not_found', `Entry ${seq}, which the attestation refers to, is not in the journal.`, {
    fix: 'If it was pruned, look in the archive; else run `palyra verify` on this home.',
  });
}

async function readBody(
  commitment: string,
  { read, bodyDirectory }: BundleDeps,
): Promise<{ readonly salt: Uint8Array; readonly bytes: Uint8Array }> {
  const row = await bodyRow({ read }, commitment);
  const bytes = await openBodyFiles(bodyDirectory).read(row);
  return { salt: row.salt as Uint8Array, bytes };
}

async function bundledBodies(
  attestation: ToolAttestation,
  deps: BundleDeps,
  { bodies }: BundleOptions,
): Promise<{ readonly input?: BundledBody; readonly output?: BundledBody }> {
  const input = await bundledBody(attestation.input_sha256, deps, { bodies });
  const output = await bundledBody(attestation.output_sha256, deps, { bodies });
  return { ...(input === undefined ? {} : { input }), ...(output === undefined ? {} : { output }) };
}

/** Undefined for a body that was erased, or is in none of the entries that are left. */
async function bundledBody(
  commitment: string | undefined,
  deps: BundleDeps,
  { bodies }: BundleOptions,
): Promise<BundledBody | undefined> {
  if (commitment === undefined) return undefined;
  const row = await bodyRow(deps, commitment).catch((thrown: unknown) => {
    if (thrown instanceof JournalError && thrown.code === 'journal.not_found') return undefined;
    throw thrown;
  });
  if (row === undefined || row.salt === null) return undefined;
  const salt = hexOf(row.salt);
  if (!bodies) return { salt };
  return { salt, body: base64Of(await openBodyFiles(deps.bodyDirectory).read(row)) };
}

async function snapshotText(digest: string, read: ReadQueries<JournalSchema>): Promise<string> {
  const row = await read.selectFrom('journal_snapshots').select('text').where('digest', '=', digest).executeTakeFirst();
  if (row !== undefined) return row.text;
  throw new JournalError('journal.not_found', 'The policy snapshot of this call is not in the journal.', {
    fix: 'Run `palyra verify` on this home.',
  });
}
