import type { AttachedInput } from '@palyra/gateway';
import { until } from './launched-job.ts';

/** Somebody who is attached to a call: types, looks at what comes, and types again. */
export interface AttachedCaller {
  readonly attached: AsyncIterable<AttachedInput>;
  onOutput(stream: 'stdout' | 'stderr', bytes: Uint8Array): void;
  send(...items: readonly AttachedInput[]): void;
  type(text: string): void;
  /** Until this was said on stdout, behind whatever was waited for before. */
  sees(text: string): Promise<void>;
  /** The source throws. */
  vanish(): void;
  /** How many items were taken, and whether nothing more is wanted. */
  taken(): number;
  isLetGo(): boolean;
}

/** Never ends by itself. */
export function createCaller(): AttachedCaller {
  const queue: AttachedInput[] = [];
  let said = '';
  let seen = 0;
  let taken = 0;
  let isLetGo = false;
  let fault: Error | undefined;
  const caller: AttachedCaller = {
    attached: {
      [Symbol.asyncIterator]: () => ({
        async next() {
          await until(() => queue.length > 0 || isLetGo || fault !== undefined);
          const value = queue.shift();
          if (value === undefined && fault !== undefined) throw fault;
          if (value === undefined) return { done: true, value };
          taken += 1;
          return { value };
        },
        async return() {
          isLetGo = true;
          return { done: true, value: undefined };
        },
      }),
    },
    onOutput(stream, bytes) {
      if (stream === 'stdout') said += Buffer.from(bytes).toString('latin1');
    },
    send: (...items) => void queue.push(...items),
    type: (text) => caller.send({ kind: 'bytes', bytes: Buffer.from(text) }),
    async sees(text) {
      await until(() => said.indexOf(text, seen) >= 0 || isLetGo);
      const at = said.indexOf(text, seen);
      if (at < 0) throw new Error(`It ended without saying ${JSON.stringify(text)}: ${JSON.stringify(said)}`);
      seen = at + text.length;
    },
    vanish() {
      fault = new Error('The connection is gone.');
    },
    taken: () => taken,
    isLetGo: () => isLetGo,
  };
  return caller;
}
