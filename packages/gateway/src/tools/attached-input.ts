import type { JsonObject } from '@palyra/primitives';
import { isPassedSignal, type PassedSignal, type RunOptions } from '@palyra/sandbox';

/** What somebody who is attached to a call sends it while it runs. */
export type AttachedInput =
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array }
  /** No more bytes; the rest may still come. */
  | { readonly kind: 'end' }
  | { readonly kind: 'resize'; readonly rows: number; readonly columns: number }
  | { readonly kind: 'signal'; readonly name: PassedSignal };

export interface AttachedSource extends AsyncIterable<AttachedInput> {
  /** Read beside the rest: a signal reaches a tool that does not read what was sent before it. */
  readonly controls?: AsyncIterable<AttachedInput>;
}

export interface AttachedFeed {
  /** For the sandbox. */
  readonly options: Required<Pick<RunOptions, 'input' | 'onStart' | 'signal'>>;
  /** The command is over: whoever is attached is told so, and not waited for. */
  stop(): void;
  /** How much of it came, for the record: not what, which may be a password. */
  told(): JsonObject;
}

/**
 * Reads one piece ahead and no more: a tool that does not read makes the source wait. When the source throws, whoever was
 * attached is gone and the command is ended: it must not take a part for the whole.
 */
export function feedAttached(source: AttachedSource, signal: AbortSignal): AttachedFeed {
  const iterators: AsyncIterator<AttachedInput>[] = [];
  const lost = new AbortController();
  const bytes = createHandOver();
  const signals = new Map<PassedSignal, number>();
  let inputBytes = 0;
  let isOver = false;

  const pump = async (from: AsyncIterable<AttachedInput>, running: Running): Promise<void> => {
    const items = from[Symbol.asyncIterator]();
    iterators.push(items);
    for (let next = await items.next(); next.done !== true && !isOver; next = await items.next()) {
      const item = next.value;
      switch (item.kind) {
        case 'bytes':
          if (!(await bytes.give(item.bytes))) break;
          inputBytes += item.bytes.length;
          break;
        case 'end':
          bytes.end();
          break;
        case 'resize':
          if (isCells(item.rows) && isCells(item.columns)) running.resize(item.rows, item.columns);
          break;
        case 'signal':
          if (!isPassedSignal(item.name)) break;
          running.signal(item.name);
          signals.set(item.name, (signals.get(item.name) ?? 0) + 1);
      }
    }
  };
  const pumpAll = async (running: Running): Promise<void> => {
    const controls = source.controls === undefined ? undefined : pump(source.controls, running);
    await Promise.all([controls, pump(source, running).then(() => bytes.end())]);
  };
  return {
    options: {
      input: bytes.taken,
      signal: AbortSignal.any([signal, lost.signal]),
      onStart(running) {
        pumpAll(running).catch((fault: unknown) => {
          if (isOver) return;
          bytes.fail(fault);
          lost.abort();
        });
      },
    },
    stop() {
      isOver = true;
      bytes.end();
      // Not waited for: a source that waits for its peer answers when that comes, if it does.
      for (const iterator of iterators) void letGo(iterator);
    },
    told: () => ({ input_bytes: inputBytes, signals: Object.fromEntries(signals) }),
  };
}

type Running = Parameters<NonNullable<RunOptions['onStart']>>[0];

/** What a source does when it is let go is its own affair. */
async function letGo(iterator: AsyncIterator<AttachedInput>): Promise<void> {
  try {
    await iterator.return?.();
  } catch {
    // The command is over, and so is what it had to say to it.
  }
}

interface HandOver {
  /** Resolves when it was taken; false when nobody takes any more. */
  give(bytes: Uint8Array): Promise<boolean>;
  end(): void;
  fail(fault: unknown): void;
  readonly taken: AsyncIterable<Uint8Array>;
}

type Taken = IteratorResult<Uint8Array, undefined>;

const DONE: Taken = { done: true, value: undefined };

/** From one hand to the other: nothing is kept in between. */
function createHandOver(): HandOver {
  let taker: PromiseWithResolvers<Taken> | undefined;
  let giver: (PromiseWithResolvers<boolean> & { readonly bytes: Uint8Array }) | undefined;
  let end: { readonly fault?: unknown } | undefined;

  const close = (how: { readonly fault?: unknown }) => {
    if (end !== undefined) return;
    end = how;
    giver?.resolve(false);
    giver = undefined;
    if ('fault' in how) taker?.reject(how.fault);
    else taker?.resolve(DONE);
  };
  const next = async (): Promise<Taken> => {
    if (giver !== undefined) {
      const { bytes, resolve } = giver;
      giver = undefined;
      resolve(true);
      return { value: bytes };
    }
    if (end !== undefined) {
      if ('fault' in end) throw end.fault;
      return DONE;
    }
    taker = Promise.withResolvers();
    return taker.promise;
  };
  return {
    async give(bytes) {
      if (end !== undefined) return false;
      if (taker === undefined) {
        giver = { ...Promise.withResolvers<boolean>(), bytes };
        return giver.promise;
      }
      const { resolve } = taker;
      taker = undefined;
      resolve({ value: bytes });
      return true;
    },
    end: () => close({}),
    fail: (fault) => close({ fault }),
    taken: { [Symbol.asyncIterator]: () => ({ next }) },
  };
}

/** As the sandbox has it for a terminal that begins. */
function isCells(value: number): boolean {
  return Number.isInteger(value) && value > 0 && value < 10_000;
}
