import type { Clock, JsonValue } from '@palyra/primitives';
import { type Database, type Notification, program, type Step, type StepResult, StorageError } from '@palyra/storage';
import type { Body } from './bodies/prepare-body.ts';
import { checkEntryData, fieldsOfType } from './format/check-data.ts';
import { type Actor, indexOf, parseActor } from './format/entry.ts';
import { type DraftData, ENTRY_KINDS, type EntryKind } from './format/entry-kinds.ts';
import { HASH_BYTES } from './format/merkle-tree.ts';
import { JOURNAL_ERRORS, JournalError, type JournalErrorCode } from './journal-error.ts';
import { JOURNAL_PROGRAM, type JournalInput, type JournalOutput } from './store/journal-program.ts';
import type { JournalSchema } from './store/journal-schema.ts';
import type { PreparedEntry } from './store/prepared-entry.ts';

/** An entry to be. Who, when and where in the log is not for the drafter to say. */
export type Draft = { [Kind in EntryKind]: DraftOf<Kind> }[EntryKind];

/** What the journal says about itself: a wrong one would make the log unverifiable for good. */
const OWN_KINDS = [
  'log.created',
  'key.changed',
  'attestation',
  'body.erased',
  'checkpoint.cosigned',
  'segment.sealed',
  'segment.archived',
  'segment.pruned',
] as const;

type OwnKind = (typeof OWN_KINDS)[number];

const OWN: ReadonlySet<string> = new Set(OWN_KINDS);

/** An entry that others may ask for. */
export type CallerDraft = Exclude<Draft, DraftOf<OwnKind>>;

/** Throws `journal.invalid_entry` for what only the journal says. The types say so too. */
export function refuseOwnKinds(drafts: readonly Draft[]): void {
  if (!drafts.some(({ kind }) => OWN.has(kind))) return;
  throw new JournalError('journal.invalid_entry', 'Entries of this kind are written by the journal alone.');
}

export interface DraftOf<Kind extends EntryKind> {
  readonly kind: Kind;
  readonly data: DraftData<Kind, Body>;
}

export interface AppendedEntry {
  readonly seq: number;
  /** Hexadecimal. */
  readonly hash: string;
}

export type AppendOutcome =
  | { readonly kind: 'appended'; readonly entries: readonly AppendedEntry[]; readonly results: readonly StepResult[] }
  /** One of the other steps did not hold; nothing was written. */
  | { readonly kind: 'conflict'; readonly step: number };

/** Changes of other tables that belong to the entries: all of it is written, or nothing. */
export interface AppendOptions {
  readonly steps?: readonly Step[];
  readonly notifications?: readonly Notification[];
}

export type CommitOptions = AppendOptions & Omit<JournalInput, 'entries'>;

/** Throws `journal.invalid_entry` and `journal.invalid_actor`. */
export function prepareEntries(actor: Actor, drafts: readonly Draft[], clock: Clock): readonly PreparedEntry[] {
  const by = parseActor(actor);
  // SECURITY: T-31 — the time is ours; a draft has no field for it.
  const time = clock.now();
  return drafts.map((draft) => prepareEntry(draft, { by, time }));
}

function prepareEntry(
  { kind, data }: Draft,
  { by, time }: { readonly by: Actor; readonly time: number },
): PreparedEntry {
  const { stored, bodies } = separateBodies(kind, data);
  const checked = checkEntryData(kind, stored);
  const { run_id, session_id, call_id, principal, tool, outcome } = indexOf(by, checked);
  // Canonical, for the fields are sorted and hold nothing that RFC 8785 writes otherwise.
  const text = JSON.stringify(checked);
  const { version } = ENTRY_KINDS[kind];
  return {
    fields: [time, by, kind, version, text, run_id, session_id, call_id, principal, tool, outcome],
    bodies,
  };
}

function separateBodies(
  kind: EntryKind,
  data: Readonly<Record<string, unknown>>,
): { readonly stored: Record<string, JsonValue>; readonly bodies: readonly Body[] } {
  const bodyFields = bodyFieldsOf(kind);
  if (bodyFields.length === 0) return { stored: data as Record<string, JsonValue>, bodies: NO_BODIES };
  const bodies: Body[] = [];
  const stored = { ...data } as Record<string, JsonValue>;
  for (const name of bodyFields) {
    const body = data[name] as Body | undefined;
    if (body === undefined) continue;
    bodies.push(body);
    stored[name] = body.commitment;
    if (body.totalBytes > body.bytes && hasTotal(kind, name)) stored[`${name}_total`] = body.totalBytes;
  }
  return { stored, bodies };
}

const NO_BODIES: readonly Body[] = [];

const known = new Map<EntryKind, readonly string[]>();

/** Where the chain itself says that a body was cut off, and how much there was. */
function hasTotal(kind: EntryKind, field: string): boolean {
  return Object.hasOwn(ENTRY_KINDS[kind].fields, `${field}_total`);
}

/** Looked up once for each kind: every append asks. */
function bodyFieldsOf(kind: EntryKind): readonly string[] {
  const before = known.get(kind);
  if (before !== undefined) return before;
  const found = fieldsOfType(kind, 'body');
  known.set(kind, found);
  return found;
}

/**
 * One unit with the entries last. Throws `journal.not_recorded` when nothing was written, whatever the reason, so that
 * the caller refuses the work; `journal.outcome_unknown` when that could not be established.
 */
export async function commitEntries(
  database: Database<JournalSchema>,
  entries: readonly PreparedEntry[],
  { steps = [], notifications = [], ...log }: CommitOptions,
): Promise<AppendOutcome> {
  const input: JournalInput = { entries, ...log };
  const outcome = await database
    .commit({ steps: [...steps, program(JOURNAL_PROGRAM, input)], notifications })
    .catch((error: unknown) => {
      throw notRecorded(error);
    });
  if (outcome.kind === 'conflict') return { kind: 'conflict', step: outcome.step };
  const output = outcome.results.at(-1);
  if (output?.kind !== 'program') throw new JournalError('journal.outcome_unknown', 'The journal gave no answer.');
  return {
    kind: 'appended',
    entries: appendedEntries(output.output as JournalOutput, entries.length + (log.late === undefined ? 0 : 1)),
    results: outcome.results.slice(0, -1),
  };
}

const HEX_LENGTH = 2 * HASH_BYTES;

function appendedEntries({ first, hashes }: JournalOutput, count: number): readonly AppendedEntry[] {
  const entries: AppendedEntry[] = [];
  for (let at = 0; at < count; at += 1) {
    entries.push({ seq: first + at, hash: hashes.slice(at * HEX_LENGTH, (at + 1) * HEX_LENGTH) });
  }
  return entries;
}

/** What a fault of the storage means to whoever wanted something recorded. */
export function notRecorded(error: unknown): unknown {
  if (!(error instanceof StorageError)) return error;
  const fix = error.fix === undefined ? {} : { fix: error.fix };
  if (error.programCode !== undefined && isJournalCode(error.programCode)) {
    return new JournalError(error.programCode, error.message, { cause: error, ...fix });
  }
  if (error.code === 'storage.outcome_unknown') {
    return new JournalError(
      'journal.outcome_unknown',
      `Whether the entries are in the journal is unknown: ${error.message}`,
      {
        cause: error,
        ...fix,
      },
    );
  }
  return new JournalError('journal.not_recorded', `The journal could not take the entries: ${error.message}`, {
    cause: error,
    ...fix,
  });
}

function isJournalCode(code: string): code is JournalErrorCode {
  return Object.hasOwn(JOURNAL_ERRORS, code);
}
