import { chmodSync, cpSync } from 'node:fs';
import { join } from 'node:path';
import {
  JOURNAL_MIGRATIONS,
  type Journal,
  type JournalSchema,
  journalPrograms,
  openJournal,
  parseActor,
  type ToolCallPolicySnapshot,
} from '@palyra/journal';
import { createIdSource } from '@palyra/primitives';
import { openDatabase } from '@palyra/storage';

const SNAPSHOT: ToolCallPolicySnapshot = {
  format: 'palyra.policy-snapshot/1',
  policy_set_sha256: 'a'.repeat(64),
  preset: 'coding',
  allowed_tools: ['palyra.echo'],
  max_calls_per_run: 10,
  execution_timeout_ms: 1000,
  process_runner: {
    enabled: false,
    tier: 'C',
    egress_enforcement_mode: 'strict',
    allowed_egress_hosts: [],
    allowed_egress_host_suffixes: [],
    limits: {},
  },
  wasm_runtime: { enabled: false, fuel_budget: 0, memory_bytes: 0, host_functions: [] },
  skills: [],
};

export interface RecordedCall {
  readonly run: string;
  readonly call: string;
  /** The commitment of the input. */
  readonly input: string;
}

/** Makes the journal of a home, or goes on with it, as the daemon will. */
export async function withJournal<Result>(root: string, act: (journal: Journal) => Promise<Result>): Promise<Result> {
  const keyDirectory = join(root, 'identity');
  const database = await openDatabase<JournalSchema>({
    location: { kind: 'sqlite', path: join(root, 'palyra.db') },
    migrations: JOURNAL_MIGRATIONS,
    programs: journalPrograms(keyDirectory),
    lockTimeoutMs: 5000,
    logger: { error: () => undefined },
  });
  try {
    return await act(await openJournal({ database, keyDirectory, bodyDirectory: join(root, 'bodies') }));
  } finally {
    await database.close();
  }
}

const ids = createIdSource();
const AGENT = parseActor('agent:coder');

/** One call of the echo tool from its proposal to its attestation. */
export async function recordCall(journal: Journal, text: string): Promise<RecordedCall> {
  const [run, session, call] = [ids.newId('run'), ids.newId('session'), ids.newId('call')];
  const about = { run_id: run, session_id: session, call_id: call, principal: 'agent:coder', tool: 'palyra.echo' };
  const policy_snapshot = await journal.putSnapshot(SNAPSHOT);
  const input = await journal.bodies.prepare(text);
  const output = await journal.bodies.prepare(`echo ${text}`);
  const policy_set = SNAPSHOT.policy_set_sha256;
  const decided = { decision: 'allow', reason_code: 'allowed', policy_ids: ['in-the-box'] } as const;
  const appended = await journal.append(AGENT, [
    { kind: 'proposal', data: { ...about, input } },
    { kind: 'decision', data: { ...about, ...decided, policy_set, policy_snapshot } },
    { kind: 'intent', data: { ...about, executor: 'built_in', policy_snapshot } },
  ]);
  const intent = appended.kind === 'appended' ? appended.entries.at(-1) : undefined;
  if (intent === undefined) throw new Error('The intent was not recorded.');
  const now = Date.now();
  await journal.attest(AGENT, {
    facts: {
      ...about,
      input_sha256: input.commitment,
      output_sha256: output.commitment,
      executor: 'built_in',
      sandbox_enforcement: 'none',
      separation: 'personal',
      coverage: 'direct',
      limits: {},
      resources: {},
      sandbox: {},
      egress: [],
      policy_snapshot_sha256: policy_snapshot,
      policy_set_sha256: policy_set,
      decision: { kind: 'allow', policy_ids: ['in-the-box'], reason_code: 'allowed' },
      outcome: { kind: 'completed', exit_code: 0 },
      decided_at: now,
      started_at: now,
      ended_at: now,
      anchor: { kind: 'intent', seq: intent.seq, hash: intent.hash },
    },
    drafts: [{ kind: 'outcome', data: { ...about, outcome: 'completed', exit_code: 0, output } }],
  });
  return { run, call, input: input.commitment };
}

/** As a backup does; without the mode, the home would be open to others, and refused. */
export function copyHome(from: string, to: string): void {
  cpSync(from, to, { recursive: true });
  chmodSync(to, 0o700);
}
