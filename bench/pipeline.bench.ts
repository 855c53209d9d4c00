import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { Decider } from '@palyra/approvals';
import { homeLayout, parseConfig } from '@palyra/config';
import { composeDaemon, type Daemon } from '@palyra/daemon';
import { type Caller, createFileTools, DEFAULT_TOOL_CALL_CONFIG, type Run } from '@palyra/gateway';
import { parseActor } from '@palyra/journal';
import { createIdSource } from '@palyra/primitives';
import { createSandbox, type Sandbox } from '@palyra/sandbox';
import {
  createFakeCredentials,
  createSampleCalls,
  openJournalHome,
  SAMPLE_ACTOR,
  SAMPLE_SNAPSHOT,
} from '@palyra/testkit';
import { type Contender, defineBenchmark, type Workload } from './harness.ts';
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

/** Its name is enough for a question. */
const SECRET_FILE = '.env';

/** About as long as the daemon of a row rests that has its sandboxes made off the clock: what rested is slower. */
const REST_MS = 20;

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
    oneAppend('w1-idle', REST_MS),
    call('echo', ({ warm }) => warm, ['palyra.echo', { text: 'x' }]),
    { ...call('echo-16', ({ warm }) => warm, ['palyra.echo', { text: 'x' }]), concurrency: 16 },
    warmed('tier-b', ({ observing }) => observing, ['palyra.process.run', { argv: [COMMAND], sandbox: 'limits' }]),
    warmedAlone('tier-b-alone', 'B'),
    warmedBetweenAppends('tier-b-appends', 'B'),
    call('tier-c', ({ cold }) => cold, ['palyra.process.run', { argv: [COMMAND] }]),
    coldAlone('tier-c-alone', 'C'),
    warmed('tier-c-pooled', ({ warm }) => warm, ['palyra.process.run', { argv: [COMMAND] }]),
    warmedAlone('tier-c-pooled-alone', 'C'),
    warmedBetweenAppends('tier-c-pooled-appends', 'C'),
    granted('grant'),
    readAlone('grant-alone'),
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

type Choose = (context: Context) => Opened;
type Proposal = readonly [tool: string, input: object];

function call(name: string, choose: Choose, proposal: Proposal): Contender<Context> {
  return { name, prepare: (context) => ({ operation: calling(name, choose(context), proposal) }) };
}

function calling(name: string, { run }: Opened, [tool, input]: Proposal): () => Promise<void> {
  const text = JSON.stringify(input);
  return async () => {
    const { outcome } = await run.call({ tool, input: text });
    if (outcome.kind !== 'completed') throw new Error(`${name}: ${JSON.stringify(outcome)}`);
  };
}

/** As in `bench/sandbox.bench.ts`: of a command that finds a sandbox waiting, and the next is made off the clock. */
function warmed(name: string, choose: Choose, proposal: Proposal): Contender<Context> {
  return {
    name,
    prepare(context) {
      const opened = choose(context);
      return afterWarming(opened.daemon.sandbox, calling(name, opened, proposal));
    },
  };
}

function warmedAlone(name: string, tier: 'B' | 'C'): Contender<Context> {
  return {
    name,
    async prepare({ workspace }) {
      const { sandbox, run } = await openAlone(tier, workspace, {});
      return { ...afterWarming(sandbox, run), close: () => sandbox.close() };
    },
  };
}

/**
 * The executor with one bare append before it and one after it, and nothing else: what no call can be faster than that is on
 * record before it has an effect, and again before anybody is told.
 */
function warmedBetweenAppends(name: string, tier: 'B' | 'C'): Contender<Context> {
  return {
    name,
    async prepare({ directory, workspace }) {
      const { sandbox, run } = await openAlone(tier, workspace, {});
      const { append, close } = await openAppends(join(directory, name));
      const between = async () => {
        await append();
        await run();
        await append();
      };
      return {
        ...afterWarming(sandbox, between),
        async close() {
          await close();
          await sandbox.close();
        },
      };
    },
  };
}

function coldAlone(name: string, tier: 'B' | 'C'): Contender<Context> {
  return {
    name,
    async prepare({ workspace }) {
      const { sandbox, run } = await openAlone(tier, workspace, 'off');
      return { operation: run, close: () => sandbox.close() };
    },
  };
}

async function openAlone(tier: 'B' | 'C', workspace: string, pool: 'off' | object) {
  const sandbox = await createSandbox({ operator: OPERATOR, logger: quiet, pool });
  const profile = profileOf(tier, workspace);
  return { sandbox, run: async () => succeeded(await sandbox.run({ argv: [COMMAND] }, profile)) };
}

function afterWarming(sandbox: Pick<Sandbox, 'warmed'>, run: () => Promise<void>): Workload {
  return {
    sample: 'result',
    async operation() {
      // After another contender's turn those that waited may be too old, and two commands make the profile hot again.
      while ((await sandbox.warmed()) === 0) await run();
      const before = performance.now();
      await run();
      return performance.now() - before;
    },
  };
}

/** A human said yes for the session; each call is covered by that. */
function granted(name: string): Contender<Context> {
  const input = JSON.stringify({ path: SECRET_FILE });
  return {
    name,
    async prepare({ warm: { daemon, run, ada }, workspace }) {
      await writeFile(join(workspace, SECRET_FILE), 'PORT=8080\n', { mode: 0o644 });
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

/** The file worker that reads for `grant`, without a call around it. */
function readAlone(name: string): Contender<Context> {
  return {
    name,
    async prepare({ workspace }) {
      const { sandbox } = await openAlone('C', workspace, {});
      const files = createFileTools({ sandbox, profileFor: (root) => profileOf('C', root) });
      const blobs = { keep: async () => undefined, fetch: async () => undefined };
      return {
        async operation() {
          const read = await files.run(
            'palyra.fs.read',
            { path: SECRET_FILE },
            { workspace, blobs, allowProtected: true },
          );
          if (read.kind !== 'completed') throw new Error(JSON.stringify(read));
        },
        async close() {
          await files.close();
          await sandbox.close();
        },
      };
    },
  };
}

/** As in `bench/journal.bench.ts`: one durable, signed entry; one after the other, or each after a rest. */
function oneAppend(name: string, restMs = 0): Contender<Context> {
  return {
    name,
    async prepare({ directory }) {
      const { append, close } = await openAppends(join(directory, name));
      return {
        sample: 'result',
        async operation() {
          if (restMs > 0) await setTimeout(restMs);
          const before = performance.now();
          await append();
          return performance.now() - before;
        },
        close,
      };
    },
  };
}

async function openAppends(root: string) {
  await mkdir(root, { mode: 0o700 });
  const { journal, ...home } = await openJournalHome({
    directory: root,
    location: { kind: 'sqlite', path: join(root, 'palyra.db') },
  });
  const snapshot = await journal.putSnapshot(SAMPLE_SNAPSHOT);
  const calls = createSampleCalls();
  return {
    append: () => journal.append(SAMPLE_ACTOR, [calls.decision(snapshot)]),
    close: async () => home[Symbol.asyncDispose](),
  };
}
