import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Decider } from '@palyra/approvals';
import { homeLayout, parseConfig } from '@palyra/config';
import { composeDaemon, type Daemon } from '@palyra/daemon';
import { type Caller, DEFAULT_TOOL_CALL_CONFIG, type Run } from '@palyra/gateway';
import { parseActor } from '@palyra/journal';
import { createIdSource } from '@palyra/primitives';
import { createSandbox } from '@palyra/sandbox';
import {
  createFakeCredentials,
  createSampleCalls,
  openJournalHome,
  SAMPLE_ACTOR,
  SAMPLE_SNAPSHOT,
} from '@palyra/testkit';
import { type Contender, defineBenchmark } from './harness.ts';
import { COMMAND, makePlace, OPERATOR, profileOf, quiet, type SandboxPlace, succeeded } from './sandbox-place.ts';

interface Context extends SandboxPlace {
  /** As people have it. */
  readonly warm: Opened;
  /** Without sandboxes that were started ahead. */
  readonly cold: Opened;
  /** Nothing is asked, so that Tier B runs. */
  readonly observing: Opened;
}

interface Opened {
  readonly daemon: Daemon;
  readonly run: Run;
  readonly ada: Decider;
}

/** More than any measurement makes. */
const MANY_CALLS = 100_000_000;

export default defineBenchmark<Context>({
  name: 'pipeline',
  description: 'A call from its proposal to its attestation, against its executor alone and one append to the journal.',
  baseline: 'w1',
  ratioOf: 'p50_ms',
  async setup() {
    const place = await makePlace();
    const [warm, cold, observing] = [
      await openDaemon('warm', place, { preset: 'coding', pool: {} }),
      await openDaemon('cold', place, { preset: 'coding', pool: 'off' }),
      await openDaemon('observing', place, { preset: 'observe', pool: {} }),
    ];
    return { ...place, warm, cold, observing };
  },
  async teardown({ warm, cold, observing, directory, workspace }) {
    for (const { daemon } of [warm, cold, observing]) await daemon.close();
    await rm(directory, { recursive: true });
    await rm(workspace, { recursive: true });
  },
  contenders: [
    oneAppend('w1'),
    call('echo', ({ warm }) => warm, ['palyra.echo', { text: 'x' }]),
    { ...call('echo-16', ({ warm }) => warm, ['palyra.echo', { text: 'x' }]), concurrency: 16 },
    call('tier-b', ({ observing }) => observing, ['palyra.process.run', { argv: [COMMAND], sandbox: 'limits' }]),
    alone('tier-b-alone', 'B', {}),
    call('tier-c', ({ cold }) => cold, ['palyra.process.run', { argv: [COMMAND] }]),
    alone('tier-c-alone', 'C', 'off'),
    call('tier-c-pooled', ({ warm }) => warm, ['palyra.process.run', { argv: [COMMAND] }]),
    alone('tier-c-pooled-alone', 'C', {}),
    granted('grant'),
  ],
});

const CALLER: Caller = {
  principal: { type: 'Agent', id: 'bench' },
  actor: parseActor('agent:bench'),
  groups: [],
  credential: 'bench',
  coverage: 'direct',
  separation: 'personal',
};

async function openDaemon(
  name: string,
  { directory, workspace }: SandboxPlace,
  { preset, pool }: { readonly preset: string; readonly pool: 'off' | object },
): Promise<Opened> {
  const home = homeLayout(join(directory, name));
  await mkdir(home.root, { mode: 0o700 });
  const credentials = createFakeCredentials();
  const device = createIdSource().newId('device');
  const ada = credentials.issue('ada-laptop', { person: 'user:ada', device });
  const daemon = await composeDaemon({
    home,
    config: parseConfig(`[policy]\npreset = "${preset}"\n`, 'palyra.toml').config,
    operator: OPERATOR,
    verify: credentials.verify,
    log: { level: 'error' },
    toolCalls: { ...DEFAULT_TOOL_CALL_CONFIG, maxCallsPerRun: MANY_CALLS },
    pool,
  });
  const run = await daemon.gateway.startRun(CALLER, { workspace: { id: 'bench', root: workspace } });
  return { daemon, run, ada };
}

function call(
  name: string,
  choose: (context: Context) => Opened,
  [tool, input]: readonly [string, object],
): Contender<Context> {
  const text = JSON.stringify(input);
  return {
    name,
    prepare(context) {
      const { run } = choose(context);
      return {
        async operation() {
          const { outcome } = await run.call({ tool, input: text });
          if (outcome.kind !== 'completed') throw new Error(`${name}: ${JSON.stringify(outcome)}`);
        },
      };
    },
  };
}

function alone(name: string, tier: 'B' | 'C', pool: 'off' | object): Contender<Context> {
  return {
    name,
    async prepare({ workspace }) {
      const sandbox = await createSandbox({ operator: OPERATOR, logger: quiet, pool });
      const profile = profileOf(tier, workspace);
      return {
        operation: async () => succeeded(await sandbox.run({ argv: [COMMAND] }, profile)),
        close: () => sandbox.close(),
      };
    },
  };
}

/** A human said yes for the session; each call is covered by that. */
function granted(name: string): Contender<Context> {
  const input = JSON.stringify({ path: '.env' });
  return {
    name,
    async prepare({ warm: { daemon, run, ada }, workspace }) {
      await writeFile(join(workspace, '.env'), 'PORT=8080\n', { mode: 0o644 });
      const read = () => run.call({ tool: 'palyra.fs.read', input });
      const first = read();
      for (let isAnswered = false; !isAnswered; ) {
        const [card] = await daemon.approvals.pending({ limit: 1 });
        if (card === undefined) continue;
        await daemon.approvals.decide(card.approvalId, {
          decision: 'approve',
          scope: 'session',
          shown: card.shown,
          by: ada,
        });
        isAnswered = true;
      }
      await first;
      return {
        async operation() {
          const { outcome, approval } = await read();
          if (outcome.kind !== 'completed' || approval?.scope !== 'session') throw new Error(JSON.stringify(outcome));
        },
      };
    },
  };
}

/** As in `bench/journal.bench.ts`: one durable, signed entry. */
function oneAppend(name: string): Contender<Context> {
  return {
    name,
    async prepare({ directory }) {
      const root = join(directory, name);
      await mkdir(root, { mode: 0o700 });
      const { journal, ...home } = await openJournalHome({
        directory: root,
        location: { kind: 'sqlite', path: join(root, 'palyra.db') },
      });
      const snapshot = await journal.putSnapshot(SAMPLE_SNAPSHOT);
      const calls = createSampleCalls();
      return {
        operation: () => journal.append(SAMPLE_ACTOR, [calls.decision(snapshot)]),
        close: async () => home[Symbol.asyncDispose](),
      };
    },
  };
}
