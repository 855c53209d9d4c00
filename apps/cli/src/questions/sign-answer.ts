import { canonicalJson, type JsonValue, parseJson, type Sha256Hex } from '@palyra/primitives';
import { CliError } from '../cli-error.ts';
import type { Scope, ShownPrompt } from './shown-prompt.ts';

export type Answer =
  | { readonly decision: 'approve'; readonly scope: Scope; readonly ttlMs?: number | undefined }
  | { readonly decision: 'deny'; readonly reason?: string | undefined };

export interface AnsweredQuestion {
  readonly prompt: ShownPrompt;
  readonly digest: Sha256Hex;
  readonly answer: Answer;
  /** Of the device that signs. */
  readonly device: string;
}

const SIGNING_DOMAIN = 'palyra/approval-statement/v1\n';

/**
 * The bytes to sign for the statement that palyrad drafted. Throws `cli.draft_differs`.
 * SECURITY: T-46 — the key signs what the person saw and said, and nothing else that a server would like to have signed.
 */
export function bytesToSign(draft: string, { prompt, digest, answer, device }: AnsweredQuestion): Uint8Array {
  const statement = parseJson(draft) as Readonly<Record<string, JsonValue>>;
  const scope = answer.decision === 'approve' ? answer.scope : 'once';
  const option = prompt.options.find((each) => each.scope === scope);
  const pattern = answer.decision === 'approve' ? (option?.pattern ?? null) : null;
  const said = {
    format: 'palyra.approval/1',
    approval_id: prompt.approval_id,
    subject: prompt.what.subject,
    prompt: digest,
    decision: answer.decision,
    scope,
    credential: device,
    reason: answer.decision === 'deny' ? (answer.reason ?? null) : null,
    pattern: pattern === null ? null : parseJson(pattern),
  };
  const differs = Object.entries(said).find(
    ([name, value]) => canonicalJson(statement[name] ?? null) !== canonicalJson(value),
  );
  if (differs !== undefined || holdsTooLong(statement, answer, option?.holds_ms ?? 0)) {
    throw new CliError('cli.draft_differs', 'What palyrad wants to have signed is not what was answered.', {
      fix: 'Nothing was signed. Look at the question again; if it stays so, do not trust this palyrad.',
    });
  }
  return new TextEncoder().encode(`${SIGNING_DOMAIN}${draft}`);
}

/** A minute for clocks that differ: the statement counts from the server's. */
const LEEWAY_MS = 60_000;

function holdsTooLong(statement: Readonly<Record<string, JsonValue>>, answer: Answer, offeredMs: number): boolean {
  if (answer.decision === 'deny') return false;
  const { expires_at: until, decided_at: from } = statement;
  if (typeof until !== 'number' || typeof from !== 'number') return true;
  const most = answer.scope === 'timeboxed' ? Math.min(answer.ttlMs ?? offeredMs, offeredMs) : offeredMs;
  return until - from > most || Math.abs(from - Date.now()) > LEEWAY_MS * 60;
}
