import {
  type Actor,
  type AttestedCall,
  type AttestOutcome,
  type BodySource,
  type CallerDraft,
  type DraftOf,
  type Journal,
  parseActor,
  type ToolCallPolicySnapshot,
} from '@palyra/journal';
import { createIdSource, type IdSource } from '@palyra/primitives';

export const SAMPLE_ACTOR: Actor = parseActor('user:ada');

export const SAMPLE_SNAPSHOT: ToolCallPolicySnapshot = {
  format: 'palyra.policy-snapshot/1',
  policy_set_sha256: '5'.repeat(64),
  preset: 'coding',
  allowed_tools: ['fs.read', 'process.run'],
  max_calls_per_run: 100,
  execution_timeout_ms: 30_000,
  process_runner: {
    enabled: true,
    tier: 'C',
    egress_enforcement_mode: 'strict',
    allowed_egress_hosts: ['packages.example'],
    allowed_egress_host_suffixes: [],
    limits: { cpu_ms: 30_000 },
  },
  wasm_runtime: { enabled: false, fuel_budget: 0, memory_bytes: 0, host_functions: [] },
  skills: [],
};

interface CallIds {
  readonly run_id: string;
  readonly session_id: string;
  readonly call_id: string;
  readonly principal: string;
  readonly tool: string;
}

/** Calls as an agent makes them, all of one run. */
export interface SampleCalls {
  call(tool?: string): CallIds;
  decision(snapshot: string, of?: CallIds): DraftOf<'decision'>;
  runEnded(calls: number): DraftOf<'run.ended'>;
}

export function createSampleCalls(ids: IdSource = createIdSource()): SampleCalls {
  const run = { run_id: ids.newId('run'), session_id: ids.newId('session'), principal: 'agent:coder' };
  const call = (tool = 'process.run') => ({ ...run, call_id: ids.newId('call'), tool });
  return {
    call,
    decision: (snapshot, of = call()) => ({
      kind: 'decision',
      data: {
        ...of,
        decision: 'allow',
        reason_code: 'policy.allowed',
        policy_ids: ['coding/allow-read', 'coding/allow-tests'],
        policy_set: SAMPLE_SNAPSHOT.policy_set_sha256,
        policy_snapshot: snapshot,
      },
    }),
    runEnded: (calls) => ({ kind: 'run.ended', data: { ...run, outcome: 'completed', calls } }),
  };
}

export interface SampleExecution {
  readonly input: BodySource;
  /** Absent: the call is refused. */
  readonly output?: BodySource;
  readonly steps?: AttestedCall['steps'];
  /** Its intent in the commit of its end, as of a call that changes nothing. */
  readonly inOneCommit?: true;
}

export interface AttestedSample {
  readonly outcome: AttestOutcome;
  readonly facts: AttestedCall['facts'];
}

/** A whole call: proposed, decided, about to run, and what came of it. */
export async function attestSampleCall(
  journal: Journal,
  calls: SampleCalls,
  { input, output, steps = [], inOneCommit }: SampleExecution,
): Promise<AttestedSample> {
  const snapshot = await journal.putSnapshot(SAMPLE_SNAPSHOT);
  const of = calls.call();
  const [inputBody, outputBody] = await Promise.all([
    journal.bodies.prepare(input),
    output === undefined ? undefined : journal.bodies.prepare(output),
  ]);
  const decided = calls.decision(snapshot, of);
  const before: CallerDraft[] = [{ kind: 'proposal', data: { ...of, input: inputBody } }];
  if (outputBody === undefined) before.push({ ...decided, data: { ...decided.data, decision: 'deny' } });
  else before.push(decided, { kind: 'intent', data: { ...of, executor: 'sandbox_tier_c', policy_snapshot: snapshot } });
  const anchor = inOneCommit === true ? undefined : await lastOf(journal, before);

  const facts: AttestedCall['facts'] = {
    ...of,
    input_sha256: inputBody.commitment,
    separation: 'personal',
    coverage: 'wrapped',
    limits: { cpu_ms: 30_000 },
    egress: [],
    policy_snapshot_sha256: snapshot,
    policy_set_sha256: SAMPLE_SNAPSHOT.policy_set_sha256,
    decided_at: 1_760_000_000_000,
    ...(outputBody === undefined ? REFUSED : executed(outputBody.commitment)),
    ...(anchor === undefined
      ? {}
      : { anchor: { kind: outputBody === undefined ? ('decision' as const) : ('intent' as const), ...anchor } }),
  };
  const outcome = await journal.attest(SAMPLE_ACTOR, {
    facts,
    steps,
    drafts: [
      ...(anchor === undefined ? before : []),
      {
        kind: 'outcome',
        data: { ...of, outcome: outputBody === undefined ? 'refused' : 'completed', output: outputBody },
      },
    ],
  });
  return { outcome, facts };
}

interface AnchorEntry {
  readonly seq: number;
  readonly hash: string;
}

async function lastOf(journal: Journal, drafts: readonly CallerDraft[]): Promise<AnchorEntry> {
  const appended = await journal.append(SAMPLE_ACTOR, drafts);
  const last = appended.kind === 'appended' ? appended.entries.at(-1) : undefined;
  if (last === undefined) throw new Error('A call without other steps met a conflict.');
  return last;
}

function executed(output_sha256: string) {
  return {
    output_sha256,
    executor: 'sandbox_tier_c',
    sandbox_enforcement: 'strict',
    sandbox: { no_new_privs: true },
    resources: { cpu_ms: 12 },
    decision: { kind: 'allow', policy_ids: ['coding/allow-read'], reason_code: 'policy.allowed' },
    outcome: { kind: 'completed', exit_code: 0 },
    started_at: 1_760_000_000_500,
    ended_at: 1_760_000_000_540,
  } as const;
}

const REFUSED = {
  executor: 'none',
  sandbox_enforcement: 'not_executed',
  decision: { kind: 'deny', policy_ids: ['coding/no-root'], reason_code: 'policy.forbidden' },
  outcome: { kind: 'refused', code: 'policy.forbidden' },
} as const;
