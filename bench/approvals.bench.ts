import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Asked } from '@palyra/approvals';
import { type ApprovalsHome, sampleQuestion } from '@palyra/testkit';
import { type Contender, defineBenchmark } from './harness.ts';
import { directoryOnDisk, rawAppends } from './raw-appends.ts';
import { openWithPending } from './waiting-approvals.ts';

interface Context {
  readonly directory: string;
}

const PENDING = 10_000;

export default defineBenchmark<Context>({
  name: 'approvals',
  description:
    'Asking, deciding, waking a waiter in another process, with 1 and 10,000 open; memory (KiB) of one that waits.',
  baseline: 'fdatasync',
  ratioOf: 'p50_ms',
  setup: async () => ({ directory: await directoryOnDisk() }),
  teardown: ({ directory }) => rm(directory, { recursive: true }),
  contenders: [
    rawAppends(),
    asking('ask', 0),
    deciding('decide', 0),
    wakingUp('wake-up', 0),
    asking('ask-10000', PENDING),
    deciding('decide-10000', PENDING),
    wakingUp('wake-up-10000', PENDING),
    memory('pending-10000'),
  ],
});

/** A question to a human, durable, until the card is open. Answered outside the measurement, so that few are open. */
function asking(name: string, pending: number): Contender<Context> {
  return {
    name,
    async prepare({ directory }) {
      const home = await openWithPending(join(directory, `${name}.db`), pending);
      let turn = 0;
      return {
        sample: 'result',
        async operation() {
          turn += 1;
          const question = sampleQuestion({ argv: [`${name} ${turn}`], principal: `agent:${turn}` });
          const start = performance.now();
          const asked = await home.approvals.ask(question);
          const took = performance.now() - start;
          if (asked.kind === 'asked') await home.approvals.cancel(asked);
          return took;
        },
        close: async () => home[Symbol.asyncDispose](),
      };
    },
  };
}

/** One answer: drafted, signed, verified, durable. */
function deciding(name: string, pending: number): Contender<Context> {
  return {
    name,
    async prepare({ directory }) {
      const home = await openWithPending(join(directory, `${name}.db`), pending);
      const ada = home.credentials.issue('ada laptop', { person: 'ada' });
      let turn = 0;
      return {
        sample: 'result',
        async operation() {
          turn += 1;
          const { approvalId } = await ask(home, `${name} ${turn}`);
          const { shown } = await home.approvals.get(approvalId);
          const start = performance.now();
          await home.approvals.decide(approvalId, { decision: 'approve', scope: 'once', shown, by: ada });
          return performance.now() - start;
        },
        close: async () => home[Symbol.asyncDispose](),
      };
    },
  };
}

/** From the moment when the answer is durable in one process until the waiter goes on in another. */
function wakingUp(name: string, pending: number): Contender<Context> {
  return {
    name,
    async prepare({ directory }) {
      const path = join(directory, `${name}.db`);
      const home = await openWithPending(path, pending);
      const decider = await startDecider(path);
      let turn = 0;
      return {
        sample: 'result',
        async operation() {
          turn += 1;
          const asked = await ask(home, `${name} ${turn}`);
          const woken = home.approvals.wait(asked).then(() => performance.timeOrigin + performance.now());
          const told = answerOf(decider);
          decider.send(asked.approvalId);
          const durable = Number(await told);
          // The notification may overtake the answer of the one who decided.
          return Math.max(0, (await woken) - durable);
        },
        async close() {
          const exited = once(decider, 'exit');
          decider.disconnect();
          await exited;
          await home[Symbol.asyncDispose]();
        },
      };
    },
  };
}

/** Not a time: how many KiB of memory each of ten thousand that wait takes. */
function memory(name: string): Contender<Context> {
  return {
    name,
    async prepare({ directory }) {
      const script = fileURLToPath(new URL('./approvals-memory.ts', import.meta.url));
      const child = fork(script, [join(directory, 'memory.db'), `${PENDING}`], {
        execArgv: ['--expose-gc', '--conditions=palyra-source'],
      });
      const kib = Number(await answerOf(child));
      await once(child, 'exit');
      return { sample: 'result', operation: () => kib };
    },
  };
}

async function ask({ approvals }: ApprovalsHome, word: string): Promise<Asked> {
  const asked = await approvals.ask(sampleQuestion({ argv: [word], principal: `agent:${word}` }));
  if (asked.kind === 'refused') throw new Error(asked.reason);
  return asked;
}

async function startDecider(path: string): Promise<ChildProcess> {
  const location = JSON.stringify({ kind: 'sqlite', path });
  const decider = fork(fileURLToPath(new URL('./approvals-decider.ts', import.meta.url)), [location], {
    execArgv: ['--conditions=palyra-source'],
  });
  await answerOf(decider);
  return decider;
}

async function answerOf(decider: ChildProcess): Promise<unknown> {
  const [answer] = await once(decider, 'message');
  return answer;
}
