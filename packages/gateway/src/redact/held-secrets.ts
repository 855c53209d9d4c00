import { reveal, type SecretBytes, type SecretText } from '@palyra/primitives';
import { type ByteMatcher, type BytePattern, createByteMatcher, step, wipeMatcher } from './byte-matcher.ts';
import { type Maskable, maskable } from './maskable-secret.ts';
import { secretForms } from './secret-forms.ts';

export type HoldOutcome =
  | { readonly kind: 'masked' }
  /** Not masked, and so not to be lent to anything whose output is shown. The sentence is for people. */
  | {
      readonly kind: 'refused';
      readonly why: Exclude<Maskable['kind'], 'maskable'> | 'too_many';
      readonly fix: string;
    };

/** Everything to look for at one moment. */
export interface SecretTable {
  readonly matcher: ByteMatcher;
  /** The names a pattern stands for, by its label. */
  readonly names: readonly string[];
}

export interface HeldSecrets {
  /** Masks `secret` from now on, under `name`; a second value under one name is masked beside the first, an equal one is the first. */
  hold(name: string, secret: SecretText | SecretBytes): HoldOutcome;
  /** Stops masking what is held under `name`, in streams that begin after this. */
  release(name: string): void;
  /** The same object until something changes. */
  table(): SecretTable;
  /** Until `close`, no secret that is held now, or will be, leaves the table. */
  openStream(): { close(): void };
}

interface Entry {
  readonly name: string;
  readonly forms: readonly Uint8Array[];
  readonly size: number;
  /** What the clock of changes showed when it was released. */
  released: number | undefined;
}

/** Twenty key files fit. Every byte of a form takes at most 30 bytes of tables. */
const MOST_ENTRIES = 1024;
const MOST_FORM_BYTES = 2 * 1024 * 1024;

export function createHeldSecrets(): HeldSecrets {
  let entries: Entry[] = [];
  let current: SecretTable | undefined;
  /** Counts up with every stream and release, so that each can tell which was first. */
  let clock = 0;
  const streams = new Set<number>();

  const changed = (): void => {
    // Streams come back for the new table with their next chunk and never look at the old one again.
    if (current !== undefined) wipeMatcher(current.matcher);
    current = undefined;
  };
  /** SECURITY: T-24 — a call may print a secret after it was released; a stream masks whatever was held while it ran. */
  const isStillPrinted = ({ released }: Entry): boolean =>
    released === undefined || [...streams].some((opened) => opened < released);
  const forgetReleased = (): void => {
    const forgotten = entries.filter((entry) => !isStillPrinted(entry));
    if (forgotten.length === 0) return;
    for (const form of forgotten.flatMap(({ forms }) => forms)) form.fill(0);
    entries = entries.filter(isStillPrinted);
    changed();
  };

  return {
    hold(name, secret) {
      const value = bytesOf(secret);
      const answer = maskable(value);
      if (answer.kind !== 'maskable') return { kind: 'refused', why: answer.kind, fix: FIXES[answer.kind] };
      const forms = secretForms(value);
      const key = maskName(name);
      if (entries.some((entry) => isSame(entry, key, forms))) return { kind: 'masked' };
      const size = forms.reduce((sum, form) => sum + form.length, 0);
      const sizeInAll = entries.reduce((sum, entry) => sum + entry.size, size);
      if (entries.length >= MOST_ENTRIES || sizeInAll > MOST_FORM_BYTES) {
        return { kind: 'refused', why: 'too_many', fix: FIXES.too_many };
      }
      entries.push({ name: key, forms, size, released: undefined });
      changed();
      return { kind: 'masked' };
    },
    release(name) {
      clock += 1;
      for (const entry of entries) if (entry.name === maskName(name)) entry.released ??= clock;
      forgetReleased();
    },
    table() {
      current ??= tableOf(entries);
      return current;
    },
    openStream() {
      clock += 1;
      const opened = clock;
      streams.add(opened);
      return {
        close() {
          if (streams.delete(opened)) forgetReleased();
        },
      };
    },
  };
}

const FIXES = {
  guessable: 'Use a longer secret: a mask over one so short would confirm a guess.',
  too_long: 'Keep the part that is secret by itself, without the file around it.',
  too_many: 'Hold fewer secrets at once.',
} as const;

function isSame(entry: Entry, name: string, forms: readonly Uint8Array[]): boolean {
  if (entry.released !== undefined || entry.name !== name || entry.forms.length !== forms.length) return false;
  return entry.forms.every((form, at) => Buffer.compare(form, forms[at] as Uint8Array) === 0);
}

function bytesOf(secret: SecretText | SecretBytes): Uint8Array {
  const value = reveal<string | Uint8Array>(secret);
  return typeof value === 'string' ? Buffer.from(value, 'utf8') : value;
}

/** Names end up in output, so they cannot close the mask, break a line or imitate another mask. */
function maskName(name: string): string {
  return name.replace(/[^\w./-]/g, '_').slice(0, 64);
}

function tableOf(entries: readonly Entry[]): SecretTable {
  const namesOf = new Map<string, Set<string>>();
  for (const { name, forms } of entries) {
    for (const form of forms) {
      const key = Buffer.from(form).toString('latin1');
      namesOf.set(key, (namesOf.get(key) ?? new Set()).add(name));
    }
  }
  const names = [...namesOf.values()].map((same) => [...same].join(','));
  const patterns = [...namesOf.keys()].map(
    (form, label): BytePattern => ({ bytes: Buffer.from(form, 'latin1'), label, holds: true }),
  );
  const matcher = createByteMatcher(patterns);
  return { matcher, names: names.map((name) => (holdsAny(matcher, name) ? '' : name)) };
}

/** SECURITY: T-24 — a secret that is called by its own value would be told by its mask. */
function holdsAny(matcher: ByteMatcher, name: string): boolean {
  let state = 0;
  return [...Buffer.from(name)].some((byte) => {
    state = step(matcher, state, byte);
    return matcher.length[state] !== 0;
  });
}
