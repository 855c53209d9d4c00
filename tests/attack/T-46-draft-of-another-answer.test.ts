// T-46: palyrad, or whoever stands in its place, has the approver's key sign something else than what was shown and said.
import type { ConnectRouter } from '@connectrpc/connect';
import { ApprovalService } from '@palyra/api';
import type { ApprovalAnswer, PendingApproval } from '@palyra/client';
import { canonicalJson, type JsonValue, sha256OfParts } from '@palyra/primitives';
import { describe, expect, test } from 'vitest';
import { startScriptedPalyrad } from '../integration/scripted-palyrad.ts';

const PATTERN = { effects: [], principal: 'agent:local', session: 'S1', workspace: 'shop' };
const PROMPT = {
  format: 'palyra.prompt/2',
  approval_id: 'QUESTION',
  what: { sentence: 'agent:local wants to run make.', subject: 'cd'.repeat(32) },
  options: [
    { scope: 'once', covers: ['this call'], pattern: null, holds_ms: 600_000 },
    { scope: 'session', covers: ['the session'], pattern: canonicalJson(PATTERN), holds_ms: 3_600_000 },
    {
      scope: 'timeboxed',
      covers: ['some time'],
      pattern: canonicalJson({ ...PATTERN, session: null }),
      holds_ms: 3_600_000,
    },
  ],
};
const DIGEST = sha256OfParts('palyra/approval-prompt/v1', [canonicalJson(PROMPT)]);
const SHOWN: PendingApproval = {
  approval_id: 'QUESTION',
  state: 'pending',
  principal: 'agent:local',
  session_id: 'S1',
  workspace_id: 'shop',
  prompt: PROMPT,
  // What the server says it is counts for nothing.
  prompt_sha256: 'ff'.repeat(32),
  waiting: 1,
  votes: 0,
};

function draftFor(answer: ApprovalAnswer): Readonly<Record<string, JsonValue>> {
  const now = Date.now();
  const scope = answer.decision === 'approve' ? answer.scope : 'once';
  const option = PROMPT.options.find((each) => each.scope === scope);
  const holdsMs = answer.decision === 'approve' ? (answer.ttlMs ?? option?.holds_ms ?? 0) : 0;
  return {
    format: 'palyra.approval/2',
    origin: 'palyra.test',
    approval_id: 'QUESTION',
    subject: PROMPT.what.subject,
    decision: answer.decision,
    scope,
    pattern:
      answer.decision === 'approve' && option?.pattern != null ? (JSON.parse(option.pattern) as JsonValue) : null,
    expires_at: now + holdsMs,
    prompt: DIGEST,
    decider: 'user:ada',
    credential: 'DEVICE',
    device: 'DEVICE',
    assurance: 'same_host_key',
    decided_at: now,
    reason: answer.decision === 'deny' ? (answer.reason ?? null) : null,
  };
}

/** Answers with `statement`, and resolves to what was signed of it. */
async function decide(answer: ApprovalAnswer, statement: string, shown = SHOWN) {
  const signed: string[] = [];
  const recorded: string[] = [];
  const asked: string[] = [];
  const routes = (router: ConnectRouter) =>
    router.service(ApprovalService, {
      draftDecision(request) {
        asked.push(request.answer?.promptSha256 ?? '');
        return { statement };
      },
      recordDecision(request) {
        recorded.push(`${request.statement} ${Buffer.from(request.signature).toString()}`);
        return { kind: 'decided', state: 'approved' };
      },
    });
  await using palyrad = await startScriptedPalyrad({ script: () => 0, routes });
  const sign = (message: Uint8Array) => {
    signed.push(Buffer.from(message).toString());
    return Buffer.from('signature');
  };
  const outcome = await palyrad
    .client()
    .approvals.decide(shown, answer, { device: 'DEVICE', sign })
    .catch((error: unknown) => error);
  return { outcome, signed, recorded, asked };
}

const YES = { decision: 'approve', scope: 'once' } as const;
const SESSION = { decision: 'approve', scope: 'session' } as const;
const HOUR = { decision: 'approve', scope: 'timeboxed', ttlMs: 60_000 } as const;
const NO = { decision: 'deny' } as const;

describe('what was said of what was shown is signed', () => {
  test.each<[string, ApprovalAnswer]>([
    ['a yes', YES],
    ['a yes for the session', SESSION],
    ['a yes for a while', HOUR],
    ['a no', NO],
    ['a no with a reason', { decision: 'deny', reason: 'Not today.' }],
  ])('%s', async (_name, answer) => {
    const statement = canonicalJson(draftFor(answer));
    expect(await decide(answer, statement)).toEqual({
      outcome: { kind: 'decided', state: 'approved', released: [], approvers: 0, needed: 0 },
      signed: [`palyra/approval-statement/v1\n${statement}`],
      recorded: [`${statement} signature`],
      asked: [DIGEST],
    });
  });
});

describe('and nothing else', () => {
  test.each<[string, ApprovalAnswer, Readonly<Record<string, JsonValue>>]>([
    ['about another question', YES, { approval_id: 'OTHER' }],
    ['about another call', YES, { subject: 'ef'.repeat(32) }],
    ['about another prompt', YES, { prompt: 'ef'.repeat(32) }],
    ['a yes for a no', NO, { decision: 'approve' }],
    ['for the session', YES, { scope: 'session' }],
    ['for more than one call', YES, { pattern: PATTERN }],
    ['for every session', SESSION, { pattern: { ...PATTERN, session: null } }],
    ['for longer than was offered', YES, { expires_at: Date.now() + 86_400_000 }],
    ['for longer than was said', HOUR, { expires_at: Date.now() + 3_000_000 }],
    ['for a time that has not come', YES, { decided_at: Date.now() + 86_400_000, expires_at: Date.now() + 86_400_001 }],
    ['for no time at all', YES, { expires_at: null }],
    ['of another device', YES, { credential: 'OTHER' }],
    ['in a format to come', YES, { format: 'palyra.approval/3' }],
    ['in the format of earlier prompts', YES, { format: 'palyra.approval/1' }],
    ['in words that nobody said', NO, { reason: 'Go on, then.' }],
  ])('%s', async (_name, answer, more) => {
    const { outcome, signed, recorded } = await decide(answer, canonicalJson({ ...draftFor(answer), ...more }));
    expect(outcome).toMatchObject({ code: 'client.statement_differs' });
    expect([signed, recorded]).toEqual([[], []]);
  });

  test('nor what two readers may read differently', async () => {
    const statement = canonicalJson(draftFor(YES));
    const doubled = statement.replace('{', '{"decision":"deny",');
    for (const text of [doubled, ` ${statement}`, 'null', '', '[]']) {
      expect((await decide(YES, text)).signed).toEqual([]);
    }
  });

  test('nor when the question is not the one that it was shown under', async () => {
    const statement = canonicalJson({ ...draftFor(YES), approval_id: 'OTHER' });
    expect((await decide(YES, statement, { ...SHOWN, approval_id: 'OTHER' })).signed).toEqual([]);
  });
});
