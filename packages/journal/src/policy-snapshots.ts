import { type Database, statement } from '@palyra/storage';
import { type Draft, notRecorded } from './append-entries.ts';
import { fieldsOfType } from './format/check-data.ts';
import { ENTRY_KINDS, type EntryKind } from './format/entry-kinds.ts';
import {
  parsePolicySnapshot,
  policySnapshotDigest,
  policySnapshotText,
  type ToolCallPolicySnapshot,
} from './format/policy-snapshot.ts';
import { JournalError } from './journal-error.ts';
import { nodeSha256 } from './node-crypto.ts';
import type { JournalSchema } from './store/journal-schema.ts';

export interface PolicySnapshots {
  put(snapshot: ToolCallPolicySnapshot): Promise<string>;
  get(digest: string): Promise<ToolCallPolicySnapshot>;
  /** Whether all that the drafts name are known to be kept. */
  has(drafts: readonly Draft[]): boolean;
  /** Throws `journal.invalid_entry` when a draft names one that is not kept: nobody could verify that entry. */
  require(drafts: readonly Draft[]): Promise<void>;
}

const REMEMBERED = 1000;

/** Many calls share a snapshot: it is written the first time, and afterwards only its digest is needed. */
export function createPolicySnapshots(
  database: Pick<Database<JournalSchema>, 'read' | 'write' | 'commit'>,
): PolicySnapshots {
  const stored = new Set<string>();
  const remember = (digest: string) => {
    if (stored.size >= REMEMBERED) stored.clear();
    stored.add(digest);
  };
  return {
    async put(snapshot) {
      const digest = policySnapshotDigest(snapshot, nodeSha256);
      if (stored.has(digest)) return digest;
      const row = { digest, text: policySnapshotText(snapshot) };
      const insert = database.write
        .insertInto('journal_snapshots')
        .values(row)
        .onConflict((on) => on.doNothing());
      await database.commit({ steps: [statement(insert)] }).catch((error: unknown) => {
        throw notRecorded(error);
      });
      remember(digest);
      return digest;
    },
    async get(digest) {
      const row = await database.read
        .selectFrom('journal_snapshots')
        .select('text')
        .where('digest', '=', digest)
        .executeTakeFirst();
      if (row === undefined) throw new JournalError('journal.not_found', 'There is no such policy snapshot.');
      return parsePolicySnapshot(JSON.parse(row.text));
    },
    has: (drafts) => drafts.every((draft) => snapshotsOf(draft).every((digest) => stored.has(digest))),
    async require(drafts) {
      const unknown = new Set(drafts.flatMap(snapshotsOf).filter((digest) => !stored.has(digest)));
      if (unknown.size === 0) return;
      const rows = await database.read
        .selectFrom('journal_snapshots')
        .select('digest')
        .where('digest', 'in', [...unknown])
        .execute();
      for (const { digest } of rows) remember(digest);
      if (rows.length === unknown.size) return;
      throw new JournalError('journal.invalid_entry', 'An entry names a policy snapshot that is not kept.', {
        fix: 'Put the snapshot first; its digest is what entries name.',
      });
    },
  };
}

function snapshotsOf({ kind, data }: Draft): readonly string[] {
  const fields = SNAPSHOT_FIELDS.get(kind);
  // Most kinds name none, and every append asks.
  if (fields === undefined || fields.length === 0) return NONE;
  return fields.flatMap((name) => (data as Readonly<Record<string, string | undefined>>)[name] ?? NONE);
}

const NONE: readonly string[] = [];

const SNAPSHOT_FIELDS: ReadonlyMap<string, readonly string[]> = new Map(
  (Object.keys(ENTRY_KINDS) as EntryKind[]).map((kind) => [kind, fieldsOfType(kind, 'snapshot')]),
);
