import { canonicalJson, type JsonValue } from '@palyra/primitives/browser';
import { JournalError } from '../journal-error.ts';
import { contradictionIn } from './attestation-contradiction.ts';
import { attestationFields, type ToolAttestation } from './attestation-fields.ts';
import { textOf, utf8 } from './bytes.ts';
import { checkShape, choice, digest, object, text } from './check-shape.ts';
import type { Sha256, Signer } from './crypto.ts';
import { type Envelope, signEnvelope } from './dsse.ts';
import { parseCanonical } from './parse-canonical.ts';
import { spellWith } from './spell-shape.ts';

export type { AttestedApproval, ToolAttestation } from './attestation-fields.ts';

const STATEMENT_TYPE = 'https://in-toto.io/Statement/v1';
const PREDICATE_TYPE = 'https://palyra.dev/attestation/tool-call/v1';
export const PAYLOAD_TYPE = 'application/vnd.in-toto+json';
export const MAX_PAYLOAD: number = 1024 * 1024;

/** In-toto Statement v1 with one subject. */
interface Statement {
  readonly _type: typeof STATEMENT_TYPE;
  readonly subject: readonly [Subject];
  readonly predicateType: typeof PREDICATE_TYPE;
  readonly predicate: ToolAttestation;
}

interface Subject {
  readonly name: string;
  readonly digest: { readonly sha256: string };
}

const subject = object<Subject>({ name: text, digest: object<Subject['digest']>({ sha256: digest }) });

const statement = object<Statement>({
  _type: choice(STATEMENT_TYPE),
  subject: (value, fault): value is Statement['subject'] => {
    if (Array.isArray(value) && value.length === 1) return subject(value[0], fault);
    fault.reason = 'is not a list of one subject';
    return false;
  },
  predicateType: choice(PREDICATE_TYPE),
  predicate: attestationFields,
});

/** The statement as canonical JSON: the payload of its envelope. Throws `journal.invalid_envelope`. */
export function writeAttestation(attestation: ToolAttestation): Uint8Array {
  const predicate = quicklySpelled(attestation);
  if (predicate === undefined) return writeAndCheck(attestation);
  requireSense(attestation);
  const payload = utf8(HEAD + predicate + MIDDLE + spelledSubject(attestation) + TAIL);
  requireSmall(payload);
  return payload;
}

// Keys in their order. Subject and predicate hold nothing that canonical JSON writes otherwise once the predicate is spelled.
const HEAD = `{"_type":"${STATEMENT_TYPE}","predicate":`;
const MIDDLE = `,"predicateType":"${PREDICATE_TYPE}","subject":[`;
const TAIL = ']}';

function spelledSubject(attestation: ToolAttestation): string {
  const { name, digest: of } = subjectOf(attestation);
  return `{"digest":{"sha256":"${of.sha256}"},"name":"${name}"}`;
}

const spellPredicate = spellWith(attestationFields);

/** Stands where the anchor will. */
const NO_ANCHOR: ToolAttestation['anchor'] = { kind: 'intent', seq: 0, hash: '0'.repeat(64) };

/**
 * The payload behind its anchor, of a call whose intent gets its place in the same commit: `finishPayload` has the rest.
 * Throws as `writeAttestation` does.
 */
export function writeBehindAnchor(attestation: Omit<ToolAttestation, 'anchor'>): string {
  const written = textOf(writeAttestation({ ...attestation, anchor: NO_ANCHOR })) ?? '';
  const before = beforeBehind(NO_ANCHOR);
  // The first of all fields in their order; were it not, the payload would be another one than is said here.
  if (!written.startsWith(before)) throw invalid('does not begin with its anchor.');
  return written.slice(before.length);
}

/** The payload that `writeAttestation` gives of the same attestation with this anchor. */
export function finishPayload(behind: string, anchor: ToolAttestation['anchor']): Uint8Array {
  const payload = utf8(beforeBehind(anchor) + behind);
  requireSmall(payload);
  return payload;
}

function beforeBehind({ hash, kind, seq }: ToolAttestation['anchor']): string {
  return `${HEAD}{"anchor":{"hash":"${hash}","kind":"${kind}","seq":${seq}}`;
}

/** Undefined: it is not as it should be, or nobody can say so this way. */
function quicklySpelled(attestation: ToolAttestation): string | undefined {
  try {
    return spellPredicate(attestation);
  } catch {
    return undefined;
  }
}

/** The same bytes, and what is wrong with those that cannot be written. */
function writeAndCheck(attestation: ToolAttestation): Uint8Array {
  const written: Statement = {
    _type: STATEMENT_TYPE,
    subject: [subjectOf(attestation)],
    predicateType: PREDICATE_TYPE,
    predicate: attestation,
  };
  // Written first: that refuses everything that could be something else when it is looked at again.
  const payload = utf8(canonical(written));
  requireSmall(payload);
  checkStatement(written);
  return payload;
}

/** Throws `journal.invalid_envelope` for anything but what `writeAttestation` gives. */
export function readAttestation(payload: Uint8Array): ToolAttestation {
  requireSmall(payload);
  // SECURITY: T-31 — one spelling, or what is signed here could be read as something else elsewhere.
  const written = textOf(payload) ?? '';
  const quickly = quicklyRead(written);
  if (quickly !== undefined) return quickly;
  const value = parseCanonical(written);
  if (value === undefined) throw invalid('is not canonical JSON.');
  return checkStatement(value);
}

/**
 * What is spelled again as it was written is what `writeAttestation` gave, and was looked at while it was spelled. Undefined
 * for everything else, whatever is wrong with it.
 */
function quicklyRead(written: string): ToolAttestation | undefined {
  if (!written.startsWith(HEAD)) return undefined;
  const attestation = parsed(written)?.predicate;
  const predicate = attestation === undefined ? undefined : quicklySpelled(attestation);
  if (attestation === undefined || predicate === undefined) return undefined;
  if (HEAD + predicate + MIDDLE + spelledSubject(attestation) + TAIL !== written) return undefined;
  return contradictionIn(attestation) === undefined ? attestation : undefined;
}

/** Of which nothing is known yet. */
function parsed(written: string): Partial<Statement> | undefined {
  try {
    return JSON.parse(written) as Partial<Statement>;
  } catch {
    return undefined;
  }
}

function requireSmall({ length }: Uint8Array): void {
  if (length > MAX_PAYLOAD) throw invalid(`is longer than ${MAX_PAYLOAD} bytes.`);
}

function checkStatement(value: unknown): ToolAttestation {
  const found = checkShape(value, statement, (what) => invalid(`is malformed. ${what}`));
  const { predicate } = found;
  const expected = subjectOf(predicate);
  const [{ name, digest: of }] = found.subject;
  // SECURITY: T-31 — other verifiers look at the subject only; it must not speak of another call than the predicate.
  if (name !== expected.name || of.sha256 !== expected.digest.sha256) throw invalid('is about another call.');
  requireSense(predicate);
  return predicate;
}

function requireSense(attestation: ToolAttestation): void {
  const contradiction = contradictionIn(attestation);
  if (contradiction !== undefined) throw invalid(`contradicts itself: ${contradiction}.`);
}

/** The attestation in an opened envelope. Throws `journal.invalid_envelope`; the signature is not looked at. */
export function attestationIn({ payloadType, payload }: Envelope): ToolAttestation {
  if (payloadType !== PAYLOAD_TYPE) throw invalid('is in an envelope for something else.');
  return readAttestation(payload);
}

/** The text of the signed envelope. Throws `journal.invalid_envelope`. */
export function signAttestation(attestation: ToolAttestation, signer: Signer, sha256: Sha256): string {
  return signEnvelope(PAYLOAD_TYPE, writeAttestation(attestation), { signer, sha256 });
}

function subjectOf({ call_id, execution_sha256 }: ToolAttestation): Subject {
  return { name: `palyra:call:${call_id}`, digest: { sha256: execution_sha256 } };
}

/** Any object, because what was given may not be what its type says. */
function canonical(value: unknown): string {
  try {
    return canonicalJson(value as JsonValue);
  } catch (cause) {
    throw invalid('holds what JSON cannot say.', cause);
  }
}

function invalid(what: string, cause?: unknown): JournalError {
  return new JournalError('journal.invalid_envelope', `An attestation ${what}`, {
    fix: 'docs/reference/journal.md lists the fields of an attestation.',
    ...(cause === undefined ? {} : { cause }),
  });
}
