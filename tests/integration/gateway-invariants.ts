import { parseStatement, signedBytes } from '@palyra/approvals';
import type { GatewaySchema } from '@palyra/gateway';
import { attestationIn, type JournalEntry, openEnvelope, type ToolAttestation } from '@palyra/journal';
import type { Database } from '@palyra/storage';
import { expect } from 'vitest';
import { MOST_CALLS, type ModelCall } from './gateway-model.ts';
import { type Play, runOf } from './gateway-play.ts';

/** What the journal and the tables have of a play, when everything in it is over. */
interface Record {
  readonly play: Play;
  readonly entries: readonly JournalEntry[];
  of(call: ModelCall): readonly JournalEntry[];
  attestationOf(call: ModelCall): Promise<ToolAttestation>;
}

/** Invariants 2 to 8 of the architecture, each by its own words. The journal itself is verified by whoever plays. */
export async function expectInvariants(play: Play): Promise<void> {
  const record = await readRecord(play);
  expectStories(record);
  await expectBudgets(record);
  expectPermitted(record);
  await expectSignedApprovals(record);
  expectDecidedOnce(record);
  await expectDurable(record);
  await expectAttestedAsFound(record);
  expectFaultsRefuse(record);
}

async function readRecord(play: Play): Promise<Record> {
  const { journal } = play.ground;
  const { entries, next } = await journal.query({ principal: play.agent.actor, limit: 1000 });
  expect(next).toBeUndefined();
  const of = (call: ModelCall) => {
    const { id } = play.calls.get(call) ?? {};
    return entries.filter(({ data }) => 'call_id' in data && data.call_id === id);
  };
  return {
    play,
    entries,
    of,
    async attestationOf(call) {
      const entry = of(call).find(({ kind }) => kind === 'attestation');
      if (entry?.kind !== 'attestation') throw new Error('It was not attested.');
      const { bytes } = await journal.bodies.read(entry.data.envelope);
      return attestationIn(openEnvelope(Buffer.from(bytes).toString('utf8')));
    },
  };
}

/** One attestation for every path, refusals included; what was cut off before its intent has none, and had no effect. */
function expectStories({ play, of }: Record): void {
  for (const call of play.model.calls) {
    const decisions = call.decisions.map((kind) => `decision ${kind}`);
    const end = call.stage === 'ended' ? ['outcome', 'attestation'] : [];
    const story = [...decisions, ...(call.hasIntent ? ['intent'] : []), ...end];
    const found = of(call).map(({ kind, data }) => (kind === 'decision' ? `decision ${data.decision}` : kind));
    expect(found).toEqual(story.length === 0 ? [] : ['proposal', ...story]);
  }
}

/** Nested calls are ordinary proposals with the same budget; it is never exceeded, whatever died in between. */
async function expectBudgets({ play, entries }: Record): Promise<void> {
  const database = play.ground.database as unknown as Database<GatewaySchema>;
  for (const run of play.model.runs) {
    const { id } = runOf(play, run);
    const begun = entries.filter(({ kind, data }) => kind === 'intent' && data.run_id === id).length;
    expect(begun).toBeLessThanOrEqual(MOST_CALLS);
    const row = await database.read.selectFrom('gateway_runs').selectAll().where('id', '=', id).executeTakeFirst();
    expect(row).toMatchObject({ calls: begun, refused: run.refused, state: 'ended' });
    const ends = entries.filter(({ kind, data }) => kind === 'run.ended' && data.run_id === id);
    expect(ends.map(({ data }) => 'calls' in data && data.calls)).toEqual([run.used]);
    expect(begun).toBe(run.used);
  }
}

/**
 * 2: `execute` accepts only a `PermittedCall`, which only `approve` can make and which is checked and consumed at run
 * time too. Nested calls are ordinary proposals with a parent.
 * 3: Approval is an input to policy, never a way around it. A human is asked only for what would then be allowed.
 */
function expectPermitted({ play, entries, of }: Record): void {
  for (const call of play.model.calls) {
    const real = play.calls.get(call);
    const effects = play.effects.filter(({ callId }) => callId === real?.id).length;
    expect(effects).toBe(call.effects);
    expect(effects).toBeLessThanOrEqual(1);
    const found = of(call);
    const last = found.findLast(({ kind }) => kind === 'decision');
    if (call.hasIntent) expect(last?.data).toMatchObject({ decision: 'allow' });
    const [proposal] = found;
    const parent = call.parent === undefined ? undefined : play.calls.get(call.parent)?.id;
    if (proposal?.kind === 'proposal') expect(proposal.data.parent_call_id).toBe(parent);
  }
  // The model has a question only where its policies ask, and would allow it once approved.
  const asked = entries.filter(({ kind }) => kind === 'approval.requested');
  expect(asked.length).toBe(play.model.cards.length);
}

/**
 * 4: An approval is a signed statement, not a row: approval id, subject digest, decision, scope, pattern, expiry, digest
 * of the prompt as shown, log origin; verified when the call runs.
 */
async function expectSignedApprovals({ play, attestationOf }: Record): Promise<void> {
  const { ada, credentials, journal } = play.ground;
  for (const call of play.model.calls) {
    if (!call.hasIntent || call.stage !== 'ended') continue;
    const { approval } = await attestationOf(call);
    expect(approval?.outcome).toBe(call.permit === undefined ? undefined : 'approved');
    if (approval?.statement === undefined) continue;
    const { statement: text, signature } = JSON.parse(approval.statement) as { statement: string; signature: string };
    const signed = {
      credential: ada.credential,
      message: signedBytes(text),
      signature: Buffer.from(signature, 'base64'),
    };
    expect(await credentials.verify(signed)).toMatchObject({ kind: 'human', person: 'user:ada' });
    const said = parseStatement(text);
    expect(said).toMatchObject({
      decision: 'approve',
      approval_id: approval.approval_id,
      prompt: approval.prompt_sha256,
      origin: journal.origin,
    });
    if (call.effects > 0) expect(call.startedAt).toBeLessThan(said?.expires_at ?? 0);
  }
}

/**
 * 5: Approvals are decided once (compare-and-set) by a human's credential, never by an agent's nor by the one that
 * proposed. And used once where they are for one use; what was revoked is not used after it.
 */
function expectDecidedOnce({ play, entries }: Record): void {
  const decided = new Map<string, number>();
  const used = new Map<string, number>();
  const revoked = new Set<string>();
  const count = (counts: Map<string, number>, id: string) => counts.set(id, (counts.get(id) ?? 0) + 1);
  for (const { kind, data } of entries) {
    if (kind === 'approval.decided') {
      count(decided, data.approval_id);
      const isAnswer = data.outcome === 'approved' || data.outcome === 'denied';
      if (isAnswer && data.decider !== undefined) expect(data.decider).toBe('user:ada');
    }
    if (kind !== 'grant') continue;
    if (data.change === 'revoked') revoked.add(data.grant_id);
    if (data.change !== 'used') continue;
    expect(revoked).not.toContain(data.grant_id);
    if (data.grant_id === data.approval_id) count(used, data.grant_id);
  }
  expect([...decided.values(), ...used.values()].every((times) => times === 1)).toBe(true);
  expect(used.size).toBe(play.model.cards.filter(({ isUsed }) => isUsed).length);
}

/**
 * 6: Intent is durable before effects; outcome is durable before it is told. After a crash every open intent becomes
 * `unknown_outcome`, visibly.
 */
async function expectDurable({ play, of }: Record): Promise<void> {
  for (const { recorded } of play.effects) expect(recorded.at(-1)).toBe('intent');
  expect(await play.house.gateway.settleInterrupted()).toEqual([]);
  for (const call of play.model.calls.filter(({ code }) => code === 'gateway.interrupted')) {
    const outcome = of(call).find(({ kind }) => kind === 'outcome');
    expect(outcome?.data).toMatchObject({ outcome: 'unknown_outcome', code: 'gateway.interrupted' });
  }
  for (const { call, answer } of play.echoes) {
    const { result } = play.calls.get(call) ?? {};
    if (result !== undefined) expect(await answer).toEqual(result);
  }
}

/** 7: Enforcement is […] attested as found; what cannot be enforced is refused, never weakened. */
async function expectAttestedAsFound({ play, attestationOf }: Record): Promise<void> {
  for (const call of play.model.calls) {
    if (call.stage !== 'ended') continue;
    const { executor, sandbox_enforcement, outcome, decision } = await attestationOf(call);
    const ran = call.hasIntent ? ['built_in', 'none'] : ['none', 'not_executed'];
    expect([executor, sandbox_enforcement]).toEqual(ran);
    expect(outcome.kind === 'refused').toBe(!call.hasIntent);
    expect(decision.kind).toBe(call.decisions.at(-1));
  }
}

/** 8: Every error on the decision path is a refusal. Unreadable policy means deny. */
function expectFaultsRefuse({ play }: Record): void {
  const faults = ['gateway.fault', 'policy.evaluation_failed'];
  for (const call of play.model.calls.filter(({ code }) => faults.includes(code))) {
    expect([call.effects, call.hasIntent, call.decisions.at(-1)]).toEqual([0, false, 'deny']);
    expect(play.effects.map(({ callId }) => callId)).not.toContain(play.calls.get(call)?.id);
  }
}
