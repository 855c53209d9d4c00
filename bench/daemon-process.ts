import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { PALYRAD_FLAGS } from '@palyra/config';
import type { Contender } from './harness.ts';
import type { SandboxPlace } from './sandbox-place.ts';

/** A process that started its launcher while it was small and then grew to 500 MB, as a daemon does. */
export interface Daemon {
  /** The longest time, in milliseconds, for which its event loop stood still while it did that once. */
  blockOf(what: Started): Promise<number>;
  close(): Promise<void>;
}

export type Started = 'tier-c' | 'spawn' | 'nothing';

/** `nothing` is what the machine itself does to a loop that starts nothing. */
export function loopBlock<Context extends { readonly daemon: Daemon }>(
  name: string,
  what: Started,
): Contender<Context> {
  return {
    name,
    prepare: ({ daemon }) => ({ sample: 'result', operation: () => daemon.blockOf(what) }),
  };
}

export async function createDaemon({ workspace }: SandboxPlace): Promise<Daemon> {
  const child = fork(fileURLToPath(new URL('./grown-daemon.ts', import.meta.url)), [workspace], {
    execArgv: [...PALYRAD_FLAGS, '--conditions=palyra-source'],
  });
  await answerOf(child);
  return {
    async blockOf(what) {
      child.send(what);
      return Number(await answerOf(child));
    },
    async close() {
      const exited = once(child, 'exit');
      child.disconnect();
      await exited;
    },
  };
}

async function answerOf(child: ChildProcess): Promise<unknown> {
  const ended = new AbortController();
  try {
    const [answer] = await Promise.race([
      once(child, 'message', { signal: ended.signal }),
      once(child, 'close', { signal: ended.signal }).then(([code]) => {
        throw new Error(`The grown daemon ended with ${String(code)}; what it said is above.`);
      }),
    ]);
    return answer;
  } finally {
    ended.abort();
  }
}
