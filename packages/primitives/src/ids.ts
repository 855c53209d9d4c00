import { PrimitivesError } from './primitives-error.ts';
import { type RandomBytes, secureRandomBytes } from './random-bytes.ts';

/** Every kind of thing that has an id. The kind lives in the type only: on the wire an id is a bare ULID. */
export type IdKind =
  | 'approval'
  | 'attestation'
  | 'call'
  | 'channel'
  | 'device'
  | 'entry'
  | 'grant'
  | 'message'
  | 'node'
  | 'pairing'
  | 'principal'
  | 'request'
  | 'run'
  | 'session'
  | 'skill'
  | 'token'
  | 'workspace';

declare const idKind: unique symbol;

/** A ULID in canonical spelling. An id names a thing; knowing it never grants anything. */
export type Id<Kind extends IdKind> = string & { readonly [idKind]: Kind };

export type ApprovalId = Id<'approval'>;
export type AttestationId = Id<'attestation'>;
export type CallId = Id<'call'>;
export type ChannelId = Id<'channel'>;
export type DeviceId = Id<'device'>;
export type EntryId = Id<'entry'>;
export type GrantId = Id<'grant'>;
export type MessageId = Id<'message'>;
export type NodeId = Id<'node'>;
export type PairingId = Id<'pairing'>;
export type PrincipalId = Id<'principal'>;
export type RequestId = Id<'request'>;
export type RunId = Id<'run'>;
export type SessionId = Id<'session'>;
export type SkillId = Id<'skill'>;
export type TokenId = Id<'token'>;
export type WorkspaceId = Id<'workspace'>;

export interface IdSourceDeps {
  /** Milliseconds since the Unix epoch; `Clock.now` fits. */
  readonly now?: () => number;
  readonly random?: RandomBytes;
}

export interface IdSource {
  /**
   * Each id sorts after every earlier one of this source, whatever the clock does.
   * Throws `PrimitivesError` when the clock is outside what a ULID can say.
   */
  newId<Kind extends IdKind>(kind: Kind): Id<Kind>;
}

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const TIME_LENGTH = 10;
const MAX_TIME = 2 ** 48 - 1;
/** The 80 random bits are kept as two halves, each exact in a number and eight characters long. */
const HALF = 2 ** 40;
const HALF_LENGTH = 8;

// One spelling for one id: the parser of the ULID specification also takes lower case, and Crockford's
// takes O for 0 and I or L for 1, which would give one row several names.
const CANONICAL_ULID = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/;

/**
 * One source per process, made in `compose.ts`; ids are monotonic within a source.
 * Own code instead of the `ulid` package: there a clock that says 0 is replaced by `Date.now()`, which no test
 * can own, and its detected randomness divides a byte by 255, which favours `0`.
 */
export function createIdSource({ now = Date.now, random = secureRandomBytes }: IdSourceDeps = {}): IdSource {
  let time = -1;
  let high = 0;
  let low = 0;
  return {
    newId: <Kind extends IdKind>(_kind: Kind): Id<Kind> => {
      const seen = requireUlidTime(now());
      if (seen > time) {
        time = seen;
        [high, low] = randomHalves(random);
      } else {
        // Same millisecond, or the clock stepped back: the last id plus one still sorts after all before it.
        low = (low + 1) % HALF;
        if (low === 0) high += 1;
      }
      return (crockford(time, TIME_LENGTH) + crockford(high, HALF_LENGTH) + crockford(low, HALF_LENGTH)) as Id<Kind>;
    },
  };
}

/** Throws `PrimitivesError` unless `text` is a canonical ULID. The message does not repeat the text. */
export function parseId<Kind extends IdKind>(kind: Kind, text: unknown): Id<Kind> {
  if (isUlid(text)) return text as Id<Kind>;
  throw new PrimitivesError('primitives.invalid_id', `This is not a valid ${kind} id.`, {
    fix: 'Give the 26 characters of the id exactly as Palyra printed them: digits and upper-case letters.',
  });
}

/** The millisecond an id was made in, by the clock of its source. */
export function idTime(id: Id<IdKind>): number {
  let time = 0;
  for (const character of id.slice(0, TIME_LENGTH)) time = time * 32 + ALPHABET.indexOf(character);
  return time;
}

function isUlid(text: unknown): text is string {
  return typeof text === 'string' && CANONICAL_ULID.test(text);
}

function requireUlidTime(time: number): number {
  if (Number.isInteger(time) && time >= 0 && time <= MAX_TIME) return time;
  throw new PrimitivesError('primitives.clock_out_of_range', 'The clock shows a time that no id can hold.', {
    fix: 'Set the clock of this host.',
  });
}

/** The top bit stays 0, so at least 2^79 ids follow in the same millisecond: counting up never overflows. */
function randomHalves(random: RandomBytes): [high: number, low: number] {
  const bytes = random(10);
  const read = (start: number): number => bytes.slice(start, start + 5).reduce((sum, byte) => sum * 256 + byte, 0);
  return [read(0) % (HALF / 2), read(5)];
}

function crockford(value: number, length: number): string {
  let text = '';
  for (let rest = value; text.length < length; rest = Math.floor(rest / 32)) text = ALPHABET[rest % 32] + text;
  return text;
}
