import { copyFile, cp, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { createIdSource, systemClock } from '@palyra/primitives';
import { type Database, openForReading } from '@palyra/storage';
import {
  attestSampleCall,
  bodyDirectoryOf,
  createSampleCalls,
  createTemporaryHome,
  type JournalHome,
  type JournalPlace,
  keyDirectoryOf,
  openJournalDatabase,
  openJournalHome,
  SAMPLE_ACTOR,
} from '@palyra/testkit';
import { recoverLog } from '../../packages/journal/src/create-log.ts';
import { attestationIn, signAttestation } from '../../packages/journal/src/format/attestation.ts';
import { hexOf, utf8 } from '../../packages/journal/src/format/bytes.ts';
import { checkpointText } from '../../packages/journal/src/format/checkpoint.ts';
import type { Signer } from '../../packages/journal/src/format/crypto.ts';
import { openEnvelope } from '../../packages/journal/src/format/dsse.ts';
import { entryHash } from '../../packages/journal/src/format/entry.ts';
import { addLeaf, EMPTY_FRONTIER, encodeFrontier, rootOf } from '../../packages/journal/src/format/merkle-tree.ts';
import { parseVkey, signNote } from '../../packages/journal/src/format/signed-note.ts';
import { type JournalKeys, openJournalKeys } from '../../packages/journal/src/keys/journal-keys.ts';
import { nodeSha256 as sha256 } from '../../packages/journal/src/node-crypto.ts';
import type { EntryRow, JournalSchema } from '../../packages/journal/src/store/journal-schema.ts';
import type { VerifiedState, VerifyPins } from '../../packages/journal/src/verify/report.ts';
import { type HomeReport, verifyHome } from '../../packages/journal/src/verify-home.ts';

/**
 * A home with a journal, and an attacker at its files. The entries: 0 the log, 1 and 2 its keys; 3 to 7 a call (proposal,
 * decision, intent, outcome, attestation), 8 to 12 another whose output is in a file, 13 to 16 a refusal (proposal,
 * decision, outcome, attestation), 17 the end of the run. Checkpoints: 3, 6, 8, 11, 13, 15, 17, 18.
 */
export interface AttackedHome extends AsyncDisposable {
  readonly place: JournalPlace;
  readonly keys: JournalKeys;
  /** What an attacker does to the database. */
  tamper(work: (database: DatabaseSync) => void): void;
  /** Takes a copy of the database, which can be put back. */
  backUp(): Promise<() => Promise<void>>;
  /** Goes on as palyrad would. */
  use(work: (home: JournalHome) => Promise<void>): Promise<void>;
  /** The newest checkpoint, as somebody elsewhere would remember it. */
  checkpoint(): Promise<string>;
  /** With the root key pinned as it was when the home was made. */
  verify(pins?: Partial<VerifyPins>, options?: VerifyingOptions): Promise<HomeReport>;
}

interface VerifyingOptions {
  readonly start?: VerifiedState | undefined;
  /** False: the verifier knows no root key. */
  readonly isPinned?: boolean;
}

/** Made once for each file of tests: the tests then have a copy each. */
export async function makeTemplate(): Promise<Template> {
  const directory = await mkdtemp(join(tmpdir(), 'palyra-attacked-'));
  await using opened = await openJournalHome(placeIn(directory), LIMITS);
  await fill(opened);
  return { directory, [Symbol.asyncDispose]: () => rm(directory, { recursive: true }) };
}

export interface Template extends AsyncDisposable {
  readonly directory: string;
}

const LIMITS = { inlineBytes: 4096 };

function placeIn(directory: string): JournalPlace {
  return { location: { kind: 'sqlite', path: databaseIn(directory) }, directory };
}

function databaseIn(directory: string): string {
  return join(directory, 'palyra.db');
}

export async function attack(template: Template): Promise<AttackedHome> {
  const home = await createTemporaryHome();
  await cp(template.directory, home.path, { recursive: true });
  const path = databaseIn(home.path);
  const place = placeIn(home.path);
  const use: AttackedHome['use'] = async (work) => {
    await using opened = await openJournalHome(place, LIMITS);
    await work(opened);
  };
  const tamper: AttackedHome['tamper'] = (work) => {
    const database = new DatabaseSync(path, { timeout: 5_000 });
    try {
      work(database);
    } finally {
      database.close();
    }
  };
  const rootKey = await pinnedKey(keyDirectoryOf(place));
  return {
    place,
    use,
    tamper,
    keys: openJournalKeys(keyDirectoryOf(place)),
    async backUp() {
      tamper((database) => database.exec('pragma wal_checkpoint(truncate)'));
      await copyFile(path, `${path}.old`);
      return async () => {
        await Promise.all(['-wal', '-shm'].map((suffix) => rm(`${path}${suffix}`, { force: true })));
        await copyFile(`${path}.old`, path);
      };
    },
    async checkpoint() {
      const notes: string[] = [];
      await use(async ({ journal }) => void notes.push(await journal.checkpoint()));
      return notes.join('');
    },
    async verify(pins = {}, { start, isPinned = true } = {}) {
      const database = await openForReading<JournalSchema>({ location: place.location, lockTimeoutMs: 5_000 });
      try {
        return await verifyHome({
          database,
          bodyDirectory: bodyDirectoryOf(place),
          pins: { ...(isPinned ? { rootKey } : {}), witnesses: [], checkpoints: [], ...pins },
          ...(start === undefined ? {} : { start }),
        });
      } finally {
        await database.close();
      }
    },
    [Symbol.asyncDispose]: () => home[Symbol.asyncDispose](),
  };
}

/** As `palyra journal recover` does. */
export async function recover({ place, keys }: AttackedHome): Promise<void> {
  const database = await openJournalDatabase(place);
  try {
    const own = database as unknown as Database<JournalSchema>;
    await recoverLog({ database: own, keys, clock: systemClock, ids: createIdSource() });
  } finally {
    await database.close();
  }
}

async function fill({ journal }: JournalHome): Promise<void> {
  const calls = createSampleCalls();
  await attestSampleCall(journal, calls, { input: 'git status', output: 'clean' });
  await attestSampleCall(journal, calls, { input: 'git log', output: 'commit '.repeat(1000) });
  await attestSampleCall(journal, calls, { input: 'rm -rf /' });
  await journal.append(SAMPLE_ACTOR, [calls.runEnded(3)]);
}

async function pinnedKey(directory: string): Promise<Uint8Array> {
  return parseVkey(await readFile(join(directory, 'journal-root.pub'), 'utf8'), sha256).publicKey;
}

/** What is wrong, in short. */
export function findingOf(report: HomeReport): { readonly code: string; readonly seq: number | undefined } | 'sound' {
  return report.kind === 'sound' ? 'sound' : { code: report.finding.code, seq: report.finding.seq };
}

export function entriesOf(database: DatabaseSync): EntryRow[] {
  return database.prepare('select * from journal_entries where log = 1 order by seq').all() as unknown as EntryRow[];
}

export function dataOf(database: DatabaseSync, seq: number): Record<string, unknown> {
  const row = database.prepare('select data from journal_entries where log = 1 and seq = ?').get(seq);
  return JSON.parse(String(row?.['data'])) as Record<string, unknown>;
}

/** Writes the data of an entry anew, with the columns that it is found by. */
export function setData(database: DatabaseSync, seq: number, change: Readonly<Record<string, unknown>>): void {
  const data = { ...dataOf(database, seq), ...change };
  const sorted = Object.fromEntries(Object.entries(data).toSorted(([one], [other]) => (one < other ? -1 : 1)));
  database.prepare('update journal_entries set data = ? where log = 1 and seq = ?').run(JSON.stringify(sorted), seq);
  for (const column of ['run_id', 'session_id', 'call_id', 'principal', 'tool', 'outcome'] as const) {
    const value = change[column];
    if (typeof value !== 'string') continue;
    database.prepare(`update journal_entries set ${column} = ? where log = 1 and seq = ?`).run(value, seq);
  }
}

const COPIED = 'at, actor, kind, version, data, hash, run_id, session_id, call_id, principal, tool, outcome';

/** To another number of the same log, or to an id, which may be one that JavaScript has not. */
export function copyEntry(database: DatabaseSync, from: number, to: number | { readonly id: string }): void {
  const id = typeof to === 'number' ? `(1 << 40) + ${to}` : to.id;
  database.exec(`insert into journal_entries (id, ${COPIED})
    select ${id}, ${COPIED} from journal_entries where log = 1 and seq = ${from}`);
}

interface Rewriting {
  /** Signs the checkpoints that no longer hold. Absent: the attacker has no key for it. */
  readonly checkpoints?: Signer;
  readonly attestations?: Signer;
}

/** Makes chain, tree and head anew over whatever the rows now say, and signs as far as the attacker can. */
export function rewrite(database: DatabaseSync, { checkpoints, attestations }: Rewriting = {}): void {
  const log = database.prepare('select origin from journal_logs where number = 1').get();
  const origin = String(log?.['origin']);
  const hashes: Uint8Array[] = [];
  let previous: Uint8Array = new Uint8Array(32);
  let frontier = EMPTY_FRONTIER;
  const total = entriesOf(database).length;
  for (let seq = 0; seq < total; seq += 1) {
    if (attestations !== undefined) attestAnew(database, seq, { hashes, signer: attestations });
    const row = database
      .prepare('select * from journal_entries where log = 1 and seq = ?')
      .get(seq) as unknown as EntryRow;
    previous = entryHash({ ...row, time: row.at, origin, previous }, sha256);
    hashes.push(previous);
    frontier = addLeaf(frontier, previous, { sha256 });
    database.prepare('update journal_entries set hash = ? where log = 1 and seq = ?').run(previous, seq);
    if (checkpoints === undefined) continue;
    const text = checkpointText({ origin, size: seq + 1, root: rootOf(frontier, sha256) });
    database
      .prepare('update journal_checkpoints set note = ? where log = 1 and size = ?')
      .run(signNote(text, origin, { signer: checkpoints, sha256 }), seq + 1);
  }
  database
    .prepare('update journal_logs set size = ?, sealed = ?, head = ?, frontier = ? where number = 1')
    .run(total, total, previous, encodeFrontier(frontier));
}

interface Attesting {
  readonly hashes: readonly Uint8Array[];
  readonly signer: Signer;
}

/** If it is an attestation: about the anchor as it is now, signed by the attacker's key. */
function attestAnew(database: DatabaseSync, seq: number, { hashes, signer }: Attesting): void {
  const { envelope, anchor_seq } = dataOf(database, seq);
  if (typeof envelope !== 'string') return;
  const body = database.prepare('select salt, body from journal_bodies where commitment = ?').get(envelope);
  const opened = attestationIn(openEnvelope(Buffer.from(body?.['body'] as Uint8Array).toString('utf8')));
  const anchor = hexOf(hashes[Number(anchor_seq)] ?? new Uint8Array());
  const { call_id, tool } = dataOf(database, seq);
  const stated = {
    ...opened,
    call_id: String(call_id),
    tool: String(tool),
    anchor: { ...opened.anchor, hash: anchor },
  };
  const bytes = utf8(signAttestation(stated, signer, sha256));
  const commitment = hexOf(sha256(body?.['salt'] as Uint8Array, bytes));
  database
    .prepare('update journal_bodies set commitment = ?, body = ?, bytes = ? where commitment = ?')
    .run(commitment, bytes, bytes.length, envelope);
  setData(database, seq, { envelope: commitment, anchor });
}

export function bodyFile({ directory }: JournalPlace, commitment: string): string {
  return join(directory, 'bodies', commitment.slice(0, 2), commitment);
}

export async function removeBodyFile(place: JournalPlace, commitment: string): Promise<void> {
  await rm(bodyFile(place, commitment));
}
