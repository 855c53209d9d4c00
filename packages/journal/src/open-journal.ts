import { type Clock, createIdSource, type IdSource, systemClock } from '@palyra/primitives';
import type { Database } from '@palyra/storage';
import {
  type AppendOptions,
  type AppendOutcome,
  type CallerDraft,
  type Draft,
  prepareEntries,
  refuseOwnKinds,
} from './append-entries.ts';
import { type AttestAppend, type AttestedCall, type AttestOutcome, attestCall } from './attest-call.ts';
import { createByteGate } from './bodies/byte-gate.ts';
import { createAppender } from './coalesce-appends.ts';
import { newestStoredCheckpoint } from './cosigned-checkpoint.ts';
import { type CreateLogDeps, createLog, currentLog } from './create-log.ts';
import { entryOfBody } from './entry-of-body.ts';
import type { JournalEntry } from './entry-view.ts';
import { eraseBody } from './erase-body.ts';
import { findId, type SoughtId } from './find-id.ts';
import type { Actor } from './format/entry.ts';
import type { EntryData } from './format/entry-kinds.ts';
import type { KeyRole } from './format/key-statement.ts';
import type { ToolCallPolicySnapshot } from './format/policy-snapshot.ts';
import { JournalError } from './journal-error.ts';
import { openJournalKeys } from './keys/journal-keys.ts';
import { createPolicySnapshots } from './policy-snapshots.ts';
import { type EntryFilter, type EntryPage, type PageRequest, queryEntries } from './query-entries.ts';
import { rotateKey } from './rotate-key.ts';
import type { JournalSchema, LogRow } from './store/journal-schema.ts';
import type { PreparedEntry } from './store/prepared-entry.ts';
import { createStoredBodies, type StoredBodies, sweepBodies } from './stored-bodies.ts';
import { type TailOptions, tailEntries } from './tail-entries.ts';

/** The record of what happened. Whatever is appended is durable and signed before anybody is told. */
export interface Journal {
  readonly origin: string;
  readonly bodies: StoredBodies;
  /**
   * All entries and all other steps, or nothing. Throws `journal.not_recorded` when nothing was written, so that the
   * caller refuses the work, and `journal.outcome_unknown` when that could not be established.
   */
  append(actor: Actor, drafts: readonly CallerDraft[], options?: AppendOptions): Promise<AppendOutcome>;
  /** For what the journal says about itself: segments, witnesses. Whoever calls this vouches for what it says. */
  appendOwn(actor: Actor, drafts: readonly Draft[]): Promise<AppendOutcome>;
  /** Signs what became of a call and appends it together with the entries that say so. Throws as `append` does. */
  attest(actor: Actor, call: AttestedCall): Promise<AttestOutcome>;
  /** Kept once for each digest, which is returned. Throws as `append` does. */
  putSnapshot(snapshot: ToolCallPolicySnapshot): Promise<string>;
  /** Throws `journal.not_found`. */
  snapshot(digest: string): Promise<ToolCallPolicySnapshot>;
  query(query: PageRequest & EntryFilter): Promise<EntryPage>;
  /** The one that a body came with, in whichever log; undefined when it was pruned. */
  entryOf(commitment: string): Promise<JournalEntry | undefined>;
  /** By the whole id, or its last four or more characters. Throws `journal.not_found`, `journal.invalid_query`. */
  find(what: SoughtId['what'], typed: string): Promise<string>;
  tail(options: TailOptions): AsyncGenerator<JournalEntry, void, undefined>;
  /** The newest checkpoint, a signed note. */
  checkpoint(): Promise<string>;
  /** The commitment stays, and so does the proof of everything else. Throws `journal.not_found`, `journal.body_erased`. */
  erase(actor: Actor, commitment: string, reason: EntryData<'body.erased'>['reason']): Promise<void>;
  /** Needs the root key. Throws `journal.key_missing`. */
  rotateKey(actor: Actor, role: KeyRole): Promise<void>;
}

export interface JournalDeps {
  /** Opened with `JOURNAL_MIGRATIONS` and `journalPrograms`. */
  readonly database: Database<JournalSchema>;
  /** The identity directory of the home. */
  readonly keyDirectory: string;
  /** Where large bodies are kept; absent: in the database. */
  readonly bodyDirectory: string | undefined;
  readonly inlineBytes?: number;
  readonly maxBytes?: number;
  readonly clock?: Clock;
  readonly ids?: IdSource;
}

/** How much of what was said may be on its way to the disk at a time; then those who produce it wait. */
const BYTES_UNDER_WAY = 32 * 1024 * 1024;
/** An entry without bodies still takes room. */
const ENTRY_BYTES = 1024;

/**
 * Opens the current log, or begins the first. Throws `journal.no_log` when there was one and it is gone: beginning anew
 * without a word would hide the loss.
 */
export async function openJournal(deps: JournalDeps): Promise<Journal> {
  const { database, bodyDirectory, clock = systemClock, ids = createIdSource() } = deps;
  const keys = openJournalKeys(deps.keyDirectory);
  const logDeps: CreateLogDeps = { database, keys, clock, ids };
  const log = await ensureLog(logDeps);
  await requireCertified(log, logDeps);
  // Not only when the log is made: a crash may have come in between.
  keys.publish(log.root_key);
  if (bodyDirectory !== undefined) await sweepBodies(database, bodyDirectory, clock);

  const bodies = createStoredBodies({ ...deps, directory: bodyDirectory });
  const snapshots = createPolicySnapshots(database);
  const gate = createByteGate(BYTES_UNDER_WAY);
  const appender = createAppender(database, log.origin);
  const attesting = new Set<Promise<unknown>>();

  const appendAny: AttestAppend = async (actor, drafts, { late, ...options } = {}) => {
    const entries = prepareEntries(actor, late === undefined ? drafts : [...drafts, late.draft], clock);
    if (!snapshots.has(drafts)) await snapshots.require(drafts);
    const weight = weightOf(entries);
    if (late === undefined) return gate.pass(weight, () => appender.append(entries, options));
    const entry = entries.at(-1) as PreparedEntry;
    const others = entries.slice(0, -1);
    return gate.pass(weight, () => appender.append(others, { ...options, late: { ...late, entry } }));
  };

  return {
    origin: log.origin,
    bodies,
    async append(actor, drafts, options) {
      refuseOwnKinds(drafts);
      return appendAny(actor, drafts, options);
    },
    appendOwn: (actor, drafts) => appendAny(actor, drafts),
    async attest(actor, call) {
      refuseOwnKinds(call.drafts);
      const running = attestCall(actor, call, {
        append: appendAny,
        bodies,
        signer: () => keys.of('attestation'),
        origin: log.origin,
        ids,
      });
      attesting.add(running);
      return running.finally(() => attesting.delete(running));
    },
    putSnapshot: (snapshot) => snapshots.put(snapshot),
    snapshot: (digest) => snapshots.get(digest),
    query: (query) => queryEntries(database.read, log, query),
    entryOf: (commitment) => entryOfBody(database.read, commitment),
    find: (what, typed) => findId(database.read, { what, typed, log }),
    tail: (options) => tailEntries(database, log, options),
    checkpoint: async () => (await newestStoredCheckpoint(database.read, log.number)).note,
    erase: (actor, commitment, reason) =>
      eraseBody({ commitment, reason }, actor, { database, append: appendAny, bodyDirectory }),
    rotateKey: (actor, role) =>
      rotateKey(role, actor, { ...logDeps, settled: async () => void (await Promise.allSettled(attesting)) }),
  };
}

async function ensureLog(deps: CreateLogDeps): Promise<LogRow> {
  const found = await currentLog(deps.database);
  if (found !== undefined) return found;
  if (deps.keys.hasLog()) {
    // SECURITY: T-31 — an empty database beside keys that have signed for a log is a log that was taken away.
    throw new JournalError('journal.no_log', 'This home had a journal, and it is not in the database.', {
      fix: 'Put the database back from a backup; then, or to begin anew, run `palyra journal recover`.',
    });
  }
  await createLog(deps);
  const made = await currentLog(deps.database);
  if (made === undefined) throw new JournalError('journal.no_log', 'The log that was made is not there.');
  return made;
}

async function requireCertified(log: LogRow, { database, keys }: CreateLogDeps): Promise<void> {
  const statements = await database.read
    .selectFrom('journal_keys')
    .select(['role', 'public_key', 'change'])
    .where('log', '=', log.number)
    .execute();
  for (const role of ['checkpoint', 'attestation'] as const) {
    const key = Buffer.from(keys.of(role).publicKey).toString('hex');
    const changes = statements.filter((found) => found.role === role && found.public_key === key);
    const isValid =
      changes.some(({ change }) => change === 'activated') && changes.every(({ change }) => change !== 'retired');
    if (isValid) continue;
    throw new JournalError('journal.key_not_certified', `The ${role} key in this home is not one of this log.`, {
      fix: 'Bring the identity directory that belongs to this database back, or run `palyra journal recover`.',
    });
  }
}

function weightOf(entries: ReturnType<typeof prepareEntries>): number {
  let weight = entries.length * ENTRY_BYTES;
  for (const { bodies } of entries) {
    for (const { content } of bodies) weight += content === 'file' ? 0 : content.length;
  }
  return weight;
}
