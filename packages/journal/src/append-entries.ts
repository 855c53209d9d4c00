import type { Clock, JsonValue } from '@palyra/primitives';
import { type Database, type Notification, program, type Step, type StepResult, StorageError } from '@palyra/storage';
import type { Body } from './bodies/prepare-body.ts';
import { checkEntryData, fieldsOfType } from './format/check-data.ts';
import { type Actor, indexOf, parseActor } from './format/entry.ts';
import { type DraftData, ENTRY_KINDS, type EntryKind } from './format/entry-kinds.ts';
import { JournalError } from './journal-error.ts';
import { type AppendedEntry, JOURNAL_PROGRAM, type JournalInput, type JournalOutput } from './store/journal-program.ts';
import type { JournalSchema } from './store/journal-schema.ts';
import type { PreparedEntry } from './store/prepared-entry.ts';

/** An entry to be. Who, when and where in the log is not for the drafter to say. */
export type Draft = { [Kind in EntryKind]: DraftOf<Kind> }[EntryKind];

export interface DraftOf<Kind extends EntryKind> {
  readonly kind: Kind;
  readonly data: DraftData<Kind, Body>;
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
  const bodies: Body[] = [];
  const stored: Record<string, JsonValue> = {};
  const bodyFields = bodyFieldsOf(kind);
  for (const [name, value] of Object.entries(data)) {
    if (value === undefined) continue;
    if (bodyFields.includes(name)) {
      const body = value as Body;
      bodies.push(body);
      stored[name] = body.commitment;
    } else {
      stored[name] = value as JsonValue;
    }
  }
  return { stored, bodies };
}

const known = new Map<EntryKind, readonly string[]>();

/** Looked up once for each kind: every append asks. */
function bodyFieldsOf(kind: EntryKind): readonly string[] {
  const found = known.get(kind) ?? fieldsOfType(kind, 'body');
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
    entries: (output.output as JournalOutput).entries,
    results: outcome.results.slice(0, -1),
  };
}

/** What a fault of the storage means to whoever wanted something recorded. */
export function notRecorded(error: unknown): unknown {
  if (!(error instanceof StorageError)) return error;
  const fix = error.fix === undefined ? {} : { fix: error.fix };
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
