import type { JsonObject } from '@palyra/primitives/browser';
import { JournalError } from '../journal-error.ts';
import { utf8 } from './bytes.ts';
import { checkEntryData } from './check-data.ts';
import type { Sha256 } from './crypto.ts';
import { type EntryData, isEntryKind } from './entry-data.ts';
import { ENTRY_KINDS, type EntryKind } from './entry-kinds.ts';
import { HASH_BYTES } from './merkle-tree.ts';
import { parseCanonical } from './parse-canonical.ts';
import { readSpelled } from './read-spelled.ts';

/**
 * An entry as it is stored, exported and hashed; everything here is covered by its hash. `data` stays the text that was
 * hashed, so that nobody need trust a second spelling of it.
 */
export interface StoredEntry {
  readonly origin: string;
  /** Counted from 0 in each origin. */
  readonly seq: number;
  /** The hash of the entry before; 32 zero bytes for the first. */
  readonly previous: Uint8Array;
  /** Milliseconds since the Unix epoch, by the clock of the daemon that wrote it. Order is by `seq`, not by this. */
  readonly time: number;
  readonly actor: string;
  readonly kind: string;
  readonly version: number;
  /** Canonical JSON (RFC 8785). */
  readonly data: string;
}

const ENTRY_FORMAT = 'palyra.entry/1';

const LENGTH_BYTES = 4;
const FORMAT_BYTES = utf8(ENTRY_FORMAT);
const encoder = new TextEncoder();

/**
 * Each field preceded by its length in four bytes, so that no two entries share an encoding. Throws
 * `journal.invalid_entry` for fields that have no encoding.
 */
export function encodeEntry(entry: StoredEntry): Uint8Array {
  return writeLeaf(entry).slice(1);
}

/**
 * The hash that the next entry links to, which is also the entry's leaf in the Merkle tree (RFC 6962, section 2.1).
 * Throws as `encodeEntry` does.
 */
export function entryHash(entry: StoredEntry, sha256: Sha256): Uint8Array {
  return sha256(writeLeaf(entry));
}

/** Written over and over: this runs for every entry that is appended or verified. */
let page = new Uint8Array(16 * 1024);
let view = new DataView(page.buffer);
/** The log whose name stands at the beginning of the page, and where it ends: one log has many entries. */
let named: string | undefined;
let nameEnd = 0;

/** What RFC 6962 hashes for a leaf: a zero byte and the encoding. Only good until the next call. */
function writeLeaf(entry: StoredEntry): Uint8Array {
  const { origin, seq, previous, time, actor: by, kind, version, data } = entry;
  if (!isEncodable(entry)) {
    throw new JournalError('journal.invalid_entry', 'An entry has a field that cannot be written.');
  }
  const most = 256 + 3 * (origin.length + by.length + kind.length + data.length);
  if (page.length < most) {
    page = new Uint8Array(most);
    view = new DataView(page.buffer);
    named = undefined;
  }
  if (named !== origin) {
    page[0] = 0;
    nameEnd = putText(origin, putBytes(FORMAT_BYTES, 1));
    named = origin;
  }
  let at = putUint64(seq, nameEnd);
  at = putBytes(previous, at);
  at = putUint64(time, at);
  at = putText(by, at);
  at = putText(kind, at);
  view.setUint32(at, LENGTH_BYTES);
  view.setUint32(at + LENGTH_BYTES, version);
  at = putText(data, at + 2 * LENGTH_BYTES);
  return page.subarray(0, at);
}

function putBytes(bytes: Uint8Array, at: number): number {
  view.setUint32(at, bytes.length);
  page.set(bytes, at + LENGTH_BYTES);
  return at + LENGTH_BYTES + bytes.length;
}

function putText(text: string, at: number): number {
  const start = at + LENGTH_BYTES;
  const written = text.length <= SHORT ? putShort(text, start) : putLong(text, start);
  view.setUint32(at, written);
  return start + written;
}

/** Up to here, asking the encoder takes longer than writing. */
const SHORT = 64;

function putShort(text: string, start: number): number {
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code >= 0x80) return putLong(text, start);
    page[start + index] = code;
  }
  return text.length;
}

function putLong(text: string, start: number): number {
  return encoder.encodeInto(text, page.subarray(start)).written;
}

function putUint64(value: number, at: number): number {
  view.setUint32(at, 8);
  view.setUint32(at + LENGTH_BYTES, Math.floor(value / 2 ** 32));
  view.setUint32(at + 2 * LENGTH_BYTES, value % 2 ** 32);
  return at + LENGTH_BYTES + 8;
}

/**
 * SECURITY: T-31 — bytes would be found for these too, but for another entry: half a surrogate pair becomes U+FFFD, and a
 * number outside its range becomes one inside.
 */
function isEncodable({ origin, seq, previous, time, actor: by, kind, version, data }: StoredEntry): boolean {
  return (
    isCount(seq) &&
    isCount(time) &&
    isCount(version) &&
    version < 2 ** 32 &&
    previous.length === HASH_BYTES &&
    data.isWellFormed() &&
    by.isWellFormed() &&
    kind.isWellFormed() &&
    origin.isWellFormed()
  );
}

function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}

/** Who caused an entry: one of the server's principals, with the device that proved it, or the daemon itself. */
const ACTOR = /^(?:user|agent|service|daemon):[A-Za-z0-9][A-Za-z0-9._:@/+-]{0,127}(?:#[0-7][0-9A-HJKMNP-TV-Z]{25})?$/;

declare const actor: unique symbol;

/** Made by the server from a proven credential, never from what a caller wrote. */
export type Actor = string & { readonly [actor]: true };

/** Throws `journal.invalid_actor`. */
export function parseActor(text: string): Actor {
  if (ACTOR.test(text)) return text as Actor;
  throw new JournalError(
    'journal.invalid_actor',
    'An actor is written as user:NAME, agent:NAME, service:NAME or daemon:NAME.',
  );
}

/** The last millisecond that a `Date` can hold. */
const LATEST_TIME = 8_640_000_000_000_000;

export type TypedEntry = { [Kind in EntryKind]: TypedEntryOf<Kind> }[EntryKind];

interface TypedEntryOf<Kind extends EntryKind> {
  readonly kind: Kind;
  readonly data: EntryData<Kind>;
}

/** What an entry says, wherever it stands. */
type EntryContent = Pick<StoredEntry, 'kind' | 'version' | 'data' | 'time' | 'actor'>;

/**
 * The typed view of a stored entry. Throws `journal.invalid_entry` for a kind or version this program does not know, and
 * for data that is not valid or not spelled canonically.
 */
export function readEntry({ kind, version, data, time, actor: by }: EntryContent): TypedEntry {
  parseActor(by);
  if (time > LATEST_TIME)
    throw new JournalError('journal.invalid_entry', 'An entry is from a time that no clock shows.');
  if (!isEntryKind(kind) || ENTRY_KINDS[kind].version !== version) {
    throw new JournalError(
      'journal.invalid_entry',
      'An entry is of a kind or version that this program does not know.',
      {
        fix: 'Use the verifier of a newer release.',
      },
    );
  }
  // SECURITY: T-31 — of any type: an edited store can hold what no entry has.
  const quickly = typeof data === 'string' ? readSpelled(kind, data) : undefined;
  return { kind, data: quickly ?? checkEntryData(kind, parseData(data)) } as TypedEntry;
}

function parseData(text: string): JsonObject {
  const value = parseCanonical(text);
  if (value !== undefined) return value as JsonObject;
  throw new JournalError('journal.invalid_entry', 'The data of an entry is not canonical JSON.');
}

/** What entries can be searched by; always derived from the entry, never stored on its own authority. */
export interface EntryIndex {
  readonly run_id: string | null;
  readonly session_id: string | null;
  readonly call_id: string | null;
  readonly principal: string;
  readonly tool: string | null;
  readonly outcome: string | null;
}

export function indexOf(by: string, data: Readonly<Record<string, unknown>>): EntryIndex {
  const text = (name: string) => (typeof data[name] === 'string' ? data[name] : null);
  return {
    run_id: text('run_id'),
    session_id: text('session_id'),
    call_id: text('call_id'),
    principal: text('principal') ?? by.replace(/#.*$/, ''),
    tool: text('tool'),
    outcome: text('outcome') ?? text('decision'),
  };
}
