import { canonicalJson, type JsonValue, parseSha256Hex, type Sha256Hex, sha256OfParts } from '@palyra/primitives';
import { ApprovalError } from './approval-error.ts';

/** Bytes that are part of what is approved: an executable, a script, a patch. */
export interface BoundBytes {
  /** What the bytes are, for people: a path, mostly. */
  readonly name: string;
  readonly sha256: Sha256Hex;
}

/** Exactly what an approval is for. Whatever of it differs when the call runs, the approval is for something else. */
export interface ApprovalSubject {
  /** What is called, with its version: the catalogue's name of a tool. */
  readonly action: string;
  /** As they will be used, parsed and validated. */
  readonly arguments: JsonValue;
  readonly bound: readonly BoundBytes[];
  /** Of the skill's artifact; null when no skill is involved. */
  readonly skill: Sha256Hex | null;
  /** Of the whole sandbox plan: tier, roots, hosts, armed secrets, working directory, environment. */
  readonly profile: Sha256Hex;
  readonly workspace: string;
  readonly principal: string;
  readonly session: string;
}

const DOMAIN = 'palyra/approval-subject/v1';
const SALTED_DOMAIN = 'palyra/approval-subject/v2';

/**
 * Equal for equal subjects, so only for finding them, in rows that are removed with the words of the question. Throws `approvals.invalid_question`,
 * and `PrimitivesError` for arguments that have no one spelling.
 */
export function subjectDigest(subject: ApprovalSubject): Sha256Hex {
  const { action, bound, skill, profile, workspace, principal, session } = subject;
  for (const name of [action, workspace, principal, session]) requireText(name);
  // SECURITY: T-03 — every part is named and framed, so no part can pass for another, nor be left out unnoticed.
  return sha256OfParts(DOMAIN, [
    action,
    canonicalJson(subject.arguments),
    canonicalJson(bound.map(({ name, sha256 }) => ({ name, sha256: parseSha256Hex(sha256) }))),
    skill === null ? '' : parseSha256Hex(skill),
    parseSha256Hex(profile),
    workspace,
    principal,
    session,
  ]);
}

/**
 * As it is shown and signed. SECURITY: T-54 — answers and attestations outlive what was erased: without the salt, which
 * goes with the prompt, nobody can try out which arguments these were.
 */
export function saltedSubject(subject: Sha256Hex, salt: string): Sha256Hex {
  return sha256OfParts(SALTED_DOMAIN, [salt, subject]);
}

function requireText(text: unknown): void {
  if (typeof text === 'string' && text !== '') return;
  throw new ApprovalError(
    'approvals.invalid_question',
    'A question names its action, workspace, principal and session.',
  );
}
