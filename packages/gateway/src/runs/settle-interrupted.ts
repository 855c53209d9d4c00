import type { AttestedCall, Journal, JournalEntry } from '@palyra/journal';
import { parseActor } from '@palyra/journal';
import { canonicalJson, parseJson } from '@palyra/primitives';
import { type Database, statement } from '@palyra/storage';
import { GatewayError } from '../gateway-error.ts';
import type { CallRow, GatewaySchema } from '../store/gateway-schema.ts';
import type { AttestedFacts } from '../tool-call/attested-facts.ts';
import { settledPlace } from './told-numbers.ts';

export interface SettleDeps {
  readonly database: Database<GatewaySchema>;
  readonly journal: Journal;
  readonly owner: string;
}

/** SECURITY: T-32 — what was begun and has no end is said to have none; nothing of it runs again. */
export async function settleInterrupted({ database, journal, owner }: SettleDeps): Promise<readonly string[]> {
  const open = await database.read
    .selectFrom('gateway_calls')
    .selectAll()
    .where('state', '=', 'executing')
    .where('owner', '=', owner)
    .execute();
  const generations = await generationsOf(open, database);
  for (const [at, row] of open.entries()) {
    const told = settledPlace(generations.get(row.run) ?? 0, at);
    await settle({ ...row, told }, { database, journal });
  }
  return open.map(({ id }) => id);
}

async function generationsOf(
  calls: readonly CallRow[],
  database: SettleDeps['database'],
): Promise<ReadonlyMap<string, number>> {
  if (calls.length === 0) return new Map();
  const runs = await database.read
    .selectFrom('gateway_runs')
    .select(['id', 'generation'])
    .where('id', 'in', [...new Set(calls.map(({ run }) => run))])
    .execute();
  return new Map(runs.map(({ id, generation }) => [id, generation]));
}

async function settle(row: CallRow, { database, journal }: Omit<SettleDeps, 'owner'>): Promise<void> {
  const facts = parseJson(row.facts) as unknown as AttestedFacts;
  const intent = await findIntent(row.id, journal);
  const { run_id, session_id, call_id, principal, tool } = facts;
  const outcome = { kind: 'unknown_outcome', code: 'gateway.interrupted' } as const;
  const attested: AttestedCall = {
    facts: { ...facts, outcome, anchor: { kind: 'intent', seq: intent.seq, hash: intent.hash } },
    drafts: [
      {
        kind: 'outcome',
        data: { run_id, session_id, call_id, principal, tool, outcome: outcome.kind, code: outcome.code },
      },
    ],
    steps: [
      statement(
        database.write
          .updateTable('gateway_calls')
          .set({ state: 'ended', result: canonicalJson(toldOf(facts)), told: row.told })
          .where('id', '=', row.id)
          .where('state', '=', 'executing'),
        { rows: 1 },
      ),
    ],
  };
  // A conflict: another process that shares the name was faster, and has said the same.
  await journal.attest(parseActor('daemon:palyrad'), attested);
}

async function findIntent(call: string, journal: Journal): Promise<JournalEntry> {
  const { entries } = await journal.query({ call, kinds: ['intent'], limit: 1 });
  const [intent] = entries;
  if (intent !== undefined) return intent;
  throw new GatewayError('gateway.fault', 'A call is under way, and its intent is not in the journal.', {
    fix: '`palyra verify` says what is missing.',
  });
}

function toldOf({ run_id, call_id, tool, decision, ...facts }: AttestedFacts) {
  return {
    run_id,
    call_id,
    tool,
    decision: { ...decision, policy_ids: [...decision.policy_ids], reason: 'See the journal.' },
    outcome: {
      kind: 'unknown_outcome',
      code: 'gateway.interrupted',
      message: 'palyrad ended while the call ran: what it did until then is done, how far it came is not known.',
    },
    attestation: {
      executor: facts.executor,
      sandbox_enforcement: facts.sandbox_enforcement,
      coverage: facts.coverage,
      policy_snapshot_sha256: facts.policy_snapshot_sha256,
    },
  };
}
