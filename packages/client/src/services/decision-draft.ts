import { canonicalJson, type JsonObject, type JsonValue, sha256OfParts } from '@palyra/primitives';
import { ClientError } from '../client-error.ts';
import type { ApprovalAnswer, PendingApproval } from './approvals.ts';

/** As approvals has them: docs/reference/approvals.md. */
const PROMPT_DOMAIN = 'palyra/approval-prompt/v1';
const SIGNING_DOMAIN = 'palyra/approval-statement/v1\n';
/** Each form of a prompt has its own of answers. */
const FORMATS: ReadonlyMap<JsonValue | undefined, string> = new Map([
  ['palyra.prompt/1', 'palyra.approval/1'],
  ['palyra.prompt/2', 'palyra.approval/2'],
]);

/** Of a prompt in its one spelling. */
export function digestOfPrompt(prompt: JsonObject): string {
  return sha256OfParts(PROMPT_DOMAIN, [canonicalJson(prompt)]);
}

/** The domain first, so that no signature made for something else is one of these, nor the other way round. */
export function signedBytes(statement: string): Uint8Array {
  return new TextEncoder().encode(`${SIGNING_DOMAIN}${statement}`);
}

export interface DraftCheck {
  readonly shown: PendingApproval;
  readonly answer: ApprovalAnswer;
  readonly promptSha256: string;
  /** Whose key signs. */
  readonly device: string;
}

/** Statements count from the server's clock, and clocks differ. */
const CLOCK_LEEWAY_MS = 3_600_000;

/**
 * What a person signs is what that person said about what was shown, whatever the server drafts: a yes to one question must
 * not become one to another, or to more. Throws `client.statement_differs`.
 */
export function checkDraft(statement: string, { shown, answer, promptSha256, device }: DraftCheck): void {
  const said = parseStatement(statement);
  const option = optionFor(shown.prompt, answer);
  const expected: Readonly<Record<string, JsonValue | undefined>> = {
    format: FORMATS.get(shown.prompt['format']),
    approval_id: shown.approval_id,
    subject: subjectOf(shown.prompt),
    decision: answer.decision,
    scope: answer.decision === 'approve' ? answer.scope : 'once',
    pattern: answer.decision === 'approve' ? option.pattern : null,
    prompt: promptSha256,
    credential: device,
    reason: answer.decision === 'deny' && answer.reason ? answer.reason : null,
  };
  // SECURITY: T-46 — field by field before the key is used.
  const differs = Object.entries(expected).some(([name, value]) => !isSame(said[name], value));
  // SECURITY: T-46 — nor may a yes hold longer than was offered and said.
  if (differs || shown.prompt['approval_id'] !== shown.approval_id || holdsTooLong(said, answer, option.holdsMs)) {
    throw differing();
  }
}

function holdsTooLong(said: Readonly<Record<string, JsonValue>>, answer: ApprovalAnswer, offeredMs: number): boolean {
  if (answer.decision === 'deny') return false;
  const { expires_at: until, decided_at: from } = said;
  if (typeof until !== 'number' || typeof from !== 'number') return true;
  const longestMs = answer.scope === 'timeboxed' ? Math.min(answer.ttlMs ?? offeredMs, offeredMs) : offeredMs;
  // Also when one of them is no number.
  return !(until - from <= longestMs) || Math.abs(from - Date.now()) > CLOCK_LEEWAY_MS;
}

function isSame(found: JsonValue | undefined, expected: JsonValue | undefined): boolean {
  return found !== undefined && expected !== undefined && canonicalJson(found) === canonicalJson(expected);
}

function parseStatement(text: string): Readonly<Record<string, JsonValue>> {
  try {
    const value = JSON.parse(text) as JsonValue;
    // In its one spelling: what we read is what everybody reads.
    if (isObject(value) && canonicalJson(value) === text) return value;
  } catch {
    // Below.
  }
  throw differing();
}

interface Reach {
  readonly pattern: JsonValue;
  readonly holdsMs: number;
}

/** What a yes of this scope covers and how long it holds, by what was shown. */
function optionFor({ options }: JsonObject, answer: ApprovalAnswer): Reach {
  const nothing = { pattern: null, holdsMs: 0 };
  if (answer.decision === 'deny') return nothing;
  const found = asArray(options).filter((each) => isObject(each) && each['scope'] === answer.scope);
  const [option] = found;
  if (found.length !== 1 || !isObject(option)) return nothing;
  const { pattern, holds_ms: holdsMs } = option;
  return { pattern: typeof pattern === 'string' ? parsePattern(pattern) : null, holdsMs: Number(holdsMs) };
}

function parsePattern(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    throw differing();
  }
}

function subjectOf({ what }: JsonObject): JsonValue | undefined {
  return isObject(what) ? what['subject'] : undefined;
}

function asArray(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? (value as readonly JsonValue[]) : [];
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function differing(): ClientError {
  return new ClientError(
    'client.statement_differs',
    'palyrad would have something else signed than what was answered; nothing was signed.',
    { fix: 'Look at the question again. If it happens again, do not trust this palyrad.' },
  );
}
