import { spawn } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { createSandbox, type Sandbox, type SandboxProfile } from '@palyra/sandbox';
import { createDaemon, type Daemon, loopBlock } from './daemon-process.ts';
import { type Contender, defineBenchmark, type Workload } from './harness.ts';
import { leastBubblewrap, rawBubblewrap } from './raw-bubblewrap.ts';
import { makeRepository } from './repository-place.ts';
import { codexCommand, runtimeCommand, runtimeLibrary } from './rival-sandboxes.ts';
import { COMMAND, makePlace, OPERATOR, profileOf, quiet, type SandboxPlace, succeeded } from './sandbox-place.ts';
import { untilClosed } from './until-closed.ts';

export interface SandboxContext extends SandboxPlace {
  readonly sandbox: Sandbox;
  /** A workspace as people have them. */
  readonly repository: string;
  /** Another process, which has grown. */
  readonly daemon: Daemon;
}

export default defineBenchmark<SandboxContext>({
  name: 'sandbox',
  description:
    '/bin/true in Tier B and C against a plain spawn, raw bubblewrap and other sandboxes, and what blocks the loop.',
  baseline: 'direct',
  ratioOf: 'p50_ms',
  // The slowest rivals take half a second a time, and each round has to see several.
  defaults: { rounds: 10, seconds: 10 },
  async setup() {
    const place = await makePlace();
    try {
      return {
        ...place,
        repository: await makeRepository(place.owner),
        // Cold: what a tier costs when nothing was started ahead.
        sandbox: await createSandbox({ operator: OPERATOR, logger: quiet, pool: 'off' }),
        daemon: await createDaemon(place),
      };
    } catch (error) {
      await rm(place.directory, { recursive: true });
      await rm(place.workspace, { recursive: true });
      throw error;
    }
  },
  async teardown({ sandbox, daemon, directory, workspace, repository }) {
    await daemon.close();
    await sandbox.close();
    await rm(directory, { recursive: true });
    await rm(workspace, { recursive: true });
    await rm(repository, { recursive: true });
  },
  contenders: [
    {
      name: 'direct',
      prepare: ({ workspace }) => ({
        operation: () => untilClosed(spawn(COMMAND, [], { cwd: workspace, stdio: ['ignore', 'pipe', 'pipe'] })),
      }),
    },
    rawBubblewrap('bwrap'),
    leastBubblewrap('bwrap-least'),
    pooled('tier-b', 'B'),
    tier('tier-b-cold', 'B'),
    tier('tier-c', 'C'),
    pooled('tier-c-pooled', 'C'),
    pooledIn('tier-c-pooled-repo', [COMMAND]),
    pooledIn('tier-c-pooled-repo-write', ['/bin/sh', '-c', 'echo x > bench-output']),
    git('tier-c-git', 'bound'),
    git('tier-c-git-unbound', 'unbound'),
    runtimeLibrary('srt-lib'),
    runtimeCommand('srt-cli'),
    codexCommand('codex-cli'),
    cancel('cancel-b', 'B'),
    cancel('cancel-c', 'C'),
    loopBlock('loop-block', 'tier-c'),
    loopBlock('loop-block-spawn', 'spawn'),
    loopBlock('loop-block-idle', 'nothing'),
    loopBlockBeside('loop-block-beside'),
  ],
});

/** What the machine does to the loop of a process that starts nothing while another one runs the same command. */
function loopBlockBeside(name: string): Contender<SandboxContext> {
  return {
    name,
    prepare({ daemon, sandbox, workspace }) {
      const profile = profileOf('C', workspace);
      return {
        sample: 'result',
        async operation() {
          const [block, result] = await Promise.all([
            daemon.blockOf('nothing'),
            sandbox.run({ argv: [COMMAND] }, profile),
          ]);
          succeeded(result);
          return block;
        },
      };
    },
  };
}

function tier(name: string, which: SandboxProfile['tier']): Contender<SandboxContext> {
  return {
    name,
    prepare({ sandbox, workspace }) {
      const profile = profileOf(which, workspace);
      return { operation: async () => succeeded(await sandbox.run({ argv: [COMMAND] }, profile)) };
    },
  };
}

/** What does not want to end, in three sessions, and says so when all of it is there. */
const STUBBORN = 'trap "" TERM INT HUP; setsid sh -c "setsid sleep 600 & sleep 600" & echo there; wait; sleep 600';

/** From the word that it shall end until all of it is dead and the result is there. */
function cancel(name: string, which: SandboxProfile['tier']): Contender<SandboxContext> {
  return {
    name,
    prepare({ sandbox, workspace }) {
      const profile = profileOf(which, workspace);
      return {
        sample: 'result',
        async operation() {
          const stop = new AbortController();
          let asked = 0;
          const onOutput = () => {
            asked = performance.now();
            stop.abort();
          };
          const options = { signal: stop.signal, onOutput };
          const { kind } = await sandbox.run({ argv: ['/bin/sh', '-c', STUBBORN] }, profile, options);
          if (kind !== 'cancelled' || asked === 0) throw new Error(`It was not cancelled: ${kind}.`);
          return performance.now() - asked;
        },
      };
    },
  };
}

/** What it costs to tie a command to its bytes: the program is hashed once, and looked at again for every run. */
function git(name: string, which: 'bound' | 'unbound'): Contender<SandboxContext> {
  const command = { argv: ['git', '--version'] };
  return {
    name,
    async prepare({ sandbox, workspace }) {
      const profile = profileOf('C', workspace);
      const bound = await sandbox.bind(command, profile);
      if (bound.kind === 'refused') throw new Error(bound.message);
      const options = which === 'bound' ? { bound } : {};
      return { operation: async () => succeeded(await sandbox.run(command, profile, options)) };
    },
  };
}

function pooled(name: string, which: SandboxProfile['tier']): Contender<SandboxContext> {
  return { name, prepare: ({ workspace }) => waiting([COMMAND], profileOf(which, workspace)) };
}

/** In a repository with some thousand directories, each of which is looked at or watched for protected paths. */
function pooledIn(name: string, argv: readonly string[]): Contender<SandboxContext> {
  return { name, prepare: ({ repository }) => waiting(argv, profileOf('C', repository)) };
}

/**
 * The latency of a command that finds a sandbox waiting: the refill is waited for between two of them, off the clock. How
 * many commands a second there are is what the cold ones say, for each has its sandbox made.
 */
async function waiting(argv: readonly string[], profile: SandboxProfile): Promise<Workload> {
  const sandbox = await createSandbox({ operator: OPERATOR, logger: quiet });
  const run = () => sandbox.run({ argv }, profile);
  return {
    sample: 'result',
    async operation() {
      for (;;) {
        // After another contender's turn those that waited may be too old, and two commands make the profile hot again.
        while ((await sandbox.warmed()) === 0) succeeded(await run());
        const before = performance.now();
        const result = await run();
        const took = performance.now() - before;
        succeeded(result);
        // One that waits for a plan of a moment ago is not taken: somebody may just have made a file beside the workspace.
        if ('pooled' in result && result.pooled) return took;
      }
    },
    close: () => sandbox.close(),
  };
}
