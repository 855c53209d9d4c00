import { type ApprovalId, canonicalJson, type JsonValue, type Sha256Hex } from '@palyra/primitives';
import type { Effect } from './approval-effect.ts';
import type { PromptFormat } from './prompt/prompt-record.ts';
import { ASSURANCES, type Assurance, type DecisionScope } from './question.ts';

/** Whom and what a yes for more than one use is good for; of `always`, only effects and workspace. */
export interface GrantPattern {
  readonly effects: readonly Effect[];
  readonly principal: string;
  readonly workspace: string;
  /** Null: every session of the principal in the workspace. */
  readonly session: string | null;
}

/** What a decider signs. An approval is this statement; the rows around it only say where to find it. */
export interface DecisionStatement {
  readonly format: StatementFormat;
  /** Of the log that this home writes: a statement made for another home says nothing here. */
  readonly origin: string;
  readonly approval_id: ApprovalId;
  /** As the prompt has it. */
  readonly subject: Sha256Hex;
  readonly decision: 'approve' | 'deny';
  readonly scope: DecisionScope;
  readonly pattern: GrantPattern | null;
  /** Until when it may be used. */
  readonly expires_at: number;
  /** Of the prompt as shown. */
  readonly prompt: Sha256Hex;
  readonly decider: string;
  readonly credential: string;
  readonly device: string | null;
  readonly assurance: Assurance;
  readonly decided_at: number;
  /** For the agent. */
  readonly reason: string | null;
}

export interface SignedStatement {
  /** Canonical JSON. */
  readonly text: string;
  readonly signature: Uint8Array;
}

/** The first is an answer to a prompt of the first form, whose subject has no salt. */
export type StatementFormat = 'palyra.approval/1' | 'palyra.approval/2';

/** What answers to a prompt of this form are. */
export const STATEMENT_FORMATS: Readonly<Record<PromptFormat, StatementFormat>> = {
  'palyra.prompt/1': 'palyra.approval/1',
  'palyra.prompt/2': 'palyra.approval/2',
};
const SIGNING_DOMAIN = 'palyra/approval-statement/v1\n';

export function statementText(statement: DecisionStatement): string {
  return canonicalJson(statement as unknown as JsonValue);
}

/** The domain first, so that no signature made for something else is one of these, nor the other way round. */
export function signedBytes(text: string): Uint8Array {
  return new TextEncoder().encode(`${SIGNING_DOMAIN}${text}`);
}

/** Undefined for a text that is not a statement in its one canonical spelling. */
export function parseStatement(text: string): DecisionStatement | undefined {
  try {
    const value = JSON.parse(text) as unknown;
    // SECURITY: T-46 — one spelling, exactly these fields: nothing is left for two readers to read differently.
    if (!isStatement(value) || statementText(value) !== text) return undefined;
    return value;
  } catch {
    return undefined;
  }
}

type Check = (value: unknown) => boolean;

const isName: Check = (value) => typeof value === 'string' && value !== '';
const isTime: Check = (value) => Number.isSafeInteger(value) && Number(value) >= 0;
const isDigest: Check = (value) => typeof value === 'string' && /^[0-9a-f]{64}$/.test(value);
const isOneOf =
  (words: readonly string[]): Check =>
  (value) =>
    words.includes(value as string);
const orNull =
  (check: Check): Check =>
  (value) =>
    value === null || check(value);

const FIELDS: Readonly<Record<keyof DecisionStatement, Check>> = {
  format: isOneOf(Object.values(STATEMENT_FORMATS)),
  origin: isName,
  approval_id: isName,
  subject: isDigest,
  decision: isOneOf(['approve', 'deny']),
  scope: isOneOf(['once', 'session', 'timeboxed', 'always']),
  pattern: orNull(isPattern),
  expires_at: isTime,
  prompt: isDigest,
  decider: isName,
  credential: isName,
  device: orNull(isName),
  assurance: isOneOf(ASSURANCES),
  decided_at: isTime,
  reason: orNull((value) => typeof value === 'string'),
};

function isStatement(value: unknown): value is DecisionStatement {
  if (typeof value !== 'object' || value === null) return false;
  const found = value as Readonly<Record<string, unknown>>;
  const names = Object.keys(FIELDS) as (keyof DecisionStatement)[];
  return Object.keys(found).length === names.length && names.every((name) => FIELDS[name](found[name]));
}

export function isPattern(value: unknown): value is GrantPattern {
  if (typeof value !== 'object' || value === null) return false;
  const { effects, principal, workspace, session } = value as Partial<GrantPattern>;
  return Array.isArray(effects) && isName(principal) && isName(workspace) && orNull(isName)(session);
}
