import { canonicalJson, type JsonValue, PrimitivesError, parseJson } from '@palyra/primitives/browser';
import { type Check, checkShape, choice, digest, object, optional, origin, textUpTo } from '../format/check-shape.ts';
import type { SignedKeyStatement } from '../format/key-statement.ts';
import { JournalError } from '../journal-error.ts';
import { base64, keyStatements, note, type ProvenEntry, provenEntry, snapshotText, vkey } from './written-log.ts';

export const BUNDLE_FORMAT = 'palyra.bundle/1';

/** Everything about one call that a stranger needs in order to check it, in one document. */
export interface Bundle {
  readonly format: typeof BUNDLE_FORMAT;
  readonly origin: string;
  /** A verifier key. */
  readonly root_key: string;
  readonly keys: readonly SignedKeyStatement[];
  /** A signed note, with the cosignatures that are known. */
  readonly checkpoint: string;
  readonly attestation: ProvenEntry;
  /** The entry of the intent, or of the decision when the call was refused. */
  readonly anchor: ProvenEntry;
  /** The DSSE envelope itself, for verifiers of in-toto statements, and what it was committed with. */
  readonly envelope: { readonly salt: string; readonly text: string };
  /** The record itself follows from the attestation. */
  readonly execution: { readonly salt: string };
  readonly input?: BundledBody;
  readonly output?: BundledBody;
  /** The text of the policy snapshot. */
  readonly snapshot: string;
}

/** Without the body, whoever has it can still find out whether it is the one. */
export interface BundledBody {
  readonly salt: string;
  readonly body?: string;
}

const MAX_ENVELOPE = 2 * 1024 * 1024;
/** Two of the largest bodies in base64, and all the rest. */
export const MAX_BUNDLE: number = 128 * 1024 * 1024;

const bundledBody = object<BundledBody>({ salt: digest, body: optional(base64) });

const bundleFields: Check<Bundle> = object<Bundle>({
  format: choice(BUNDLE_FORMAT),
  origin,
  root_key: vkey,
  keys: keyStatements,
  checkpoint: note,
  attestation: provenEntry,
  anchor: provenEntry,
  envelope: object<Bundle['envelope']>({ salt: digest, text: textUpTo(MAX_ENVELOPE) }),
  execution: object<Bundle['execution']>({ salt: digest }),
  input: optional(bundledBody),
  output: optional(bundledBody),
  snapshot: snapshotText,
});

/** Throws `journal.invalid_export`. However it is spaced and ordered: what counts is checked value by value. */
export function parseBundle(text: string): Bundle {
  return checkShape(parseDocument(text), bundleFields, (what) => invalid(`is malformed. ${what}`));
}

export function writeBundle(bundle: Bundle): string {
  return `${canonicalJson(bundle as unknown as JsonValue)}\n`;
}

function parseDocument(text: string): JsonValue {
  try {
    return parseJson(text, { maxLength: MAX_BUNDLE });
  } catch (cause) {
    if (!(cause instanceof PrimitivesError)) throw cause;
    throw invalid('is not JSON, or has a key twice.', cause);
  }
}

function invalid(what: string, cause?: unknown): JournalError {
  return new JournalError('journal.invalid_export', `The bundle ${what}`, {
    fix: 'Give a file that `palyra journal bundle` wrote, as it was written.',
    ...(cause === undefined ? {} : { cause }),
  });
}
