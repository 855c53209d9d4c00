import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Client } from '@connectrpc/connect';
import { RunService, WorkspaceService } from '@palyra/api';
import { homeLayout, parseConfig } from '@palyra/config';
import { composeDaemon, type Daemon } from '@palyra/daemon';
import { DEFAULT_TOOL_CALL_CONFIG, type Run } from '@palyra/gateway';
import { parseActor } from '@palyra/journal';
import { type ApiServer, type BenchStream, openBenchStream, startServers } from './api-place.ts';
import { type Contender, defineBenchmark } from './harness.ts';
import { COMMAND, makePlace, OPERATOR, type SandboxPlace } from './sandbox-place.ts';

interface Context extends SandboxPlace {
  readonly palyrad: ApiServer;
  readonly bare: ApiServer;
  /** The same pipeline without a wire. */
  readonly inProcess: { readonly daemon: Daemon; readonly run: Run };
}

type Choose = (context: Context) => ApiServer;

const palyrad: Choose = (context) => context.palyrad;
const bare: Choose = (context) => context.bare;

const ECHO = ['palyra.echo', '{"text":"x"}'] as const;
const TRUE = ['palyra.process.run', JSON.stringify({ argv: [COMMAND] })] as const;

/** What a run may make, with room for those that are under way. */
const CALLS_OF_A_RUN = 1_900;
const MANY_CALLS = 100_000_000;

export default defineBenchmark<Context>({
  name: 'api',
  description:
    'Calls over mTLS to palyrad, against a bare Connect service with the same messages and the pipeline alone.',
  baseline: 'unary-bare',
  ratioOf: 'p50_ms',
  async setup() {
    const place = await makePlace();
    const [real, other] = await startServers(place.directory, place.workspace);
    return { ...place, palyrad: real, bare: other, inProcess: await openPipeline(place) };
  },
  async teardown({ palyrad: real, bare: other, inProcess, directory, workspace }) {
    await real.close();
    await other.close();
    await inProcess.daemon.close();
    await rm(directory, { recursive: true });
    await rm(workspace, { recursive: true });
  },
  contenders: [
    unary('unary-bare', bare),
    unary('unary', palyrad),
    calling('echo-pipeline', ({ inProcess }) => inProcess.run),
    streaming('stream-bare', bare, ECHO),
    streaming('echo', palyrad, ECHO),
    ...[1, 16, 64].map((clients) => ({
      ...streaming(`echo-${clients}`, palyrad, ECHO, clients),
      concurrency: clients,
    })),
    calling('tier-c-pipeline', ({ inProcess }) => inProcess.run, TRUE),
    streaming('tier-c', palyrad, TRUE),
    memory('idle-stream-bare', bare),
    memory('idle-stream', palyrad),
  ],
});

/** A call that looks something up and nothing else. */
function unary(name: string, choose: Choose): Contender<Context> {
  return {
    name,
    prepare(context) {
      const client = choose(context).client(WorkspaceService);
      return { operation: () => client.listWorkspaces({}) };
    },
  };
}

/** A whole call on a RunStream that is open, from its proposal to its attestation; each client has a connection. */
function streaming(
  name: string,
  choose: Choose,
  [tool, input]: readonly [string, string],
  clients = 1,
): Contender<Context> {
  return {
    name,
    async prepare(context) {
      const lanes = await Promise.all(
        Array.from({ length: clients }, () => createLane(choose(context).client(RunService))),
      );
      return {
        async operation() {
          const lane = lanes.pop() as Lane;
          try {
            await lane.call(tool, input);
          } finally {
            lanes.push(lane);
          }
        },
        close() {
          for (const lane of lanes) lane.close();
        },
      };
    },
  };
}

interface Lane {
  call(tool: string, input: string): Promise<void>;
  close(): void;
}

/** Begins another run when one has made its calls. */
async function createLane(runs: Client<typeof RunService>): Promise<Lane> {
  let stream: BenchStream = await openBenchStream(runs);
  let calls = 0;
  return {
    async call(tool, input) {
      calls += 1;
      if (calls % CALLS_OF_A_RUN === 0) {
        stream.close();
        stream = await openBenchStream(runs);
      }
      await stream.call(tool, input);
    },
    close: () => stream.close(),
  };
}

function calling(
  name: string,
  choose: (context: Context) => Run,
  [tool, input]: readonly [string, string] = ECHO,
): Contender<Context> {
  return {
    name,
    prepare(context) {
      const run = choose(context);
      return {
        async operation() {
          const { outcome } = await run.call({ tool, input });
          if (outcome.kind !== 'completed') throw new Error(JSON.stringify(outcome));
        },
      };
    },
  };
}

const STREAMS = 500;
const STREAMS_OF_A_CONNECTION = 50;

/** No time but memory: KiB of the server for each stream that is open and idle. */
function memory(name: string, choose: Choose): Contender<Context> {
  return {
    name,
    prepare(context) {
      const server = choose(context);
      return {
        sample: 'result',
        async operation() {
          const before = await server.bytes();
          const streams: BenchStream[] = [];
          while (streams.length < STREAMS) {
            const runs = server.client(RunService);
            const more = Array.from({ length: STREAMS_OF_A_CONNECTION }, () => openBenchStream(runs));
            streams.push(...(await Promise.all(more)));
          }
          const kib = ((await server.bytes()) - before) / STREAMS / 1024;
          for (const stream of streams) stream.close();
          return kib;
        },
      };
    },
  };
}

async function openPipeline({ directory, workspace }: SandboxPlace): Promise<Context['inProcess']> {
  const home = homeLayout(join(directory, 'pipeline'));
  await mkdir(home.root, { mode: 0o700 });
  const daemon = await composeDaemon({
    home,
    config: parseConfig('', 'palyra.toml').config,
    operator: OPERATOR,
    log: { level: 'error' },
    toolCalls: { ...DEFAULT_TOOL_CALL_CONFIG, maxCallsPerRun: MANY_CALLS },
  });
  const run = await daemon.gateway.startRun(
    {
      principal: { type: 'Agent', id: 'bench' },
      actor: parseActor('agent:bench'),
      groups: [],
      credential: 'bench',
      coverage: 'direct',
      separation: 'personal',
    },
    { workspace: { id: 'bench', root: workspace } },
  );
  return { daemon, run };
}
