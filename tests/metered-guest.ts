import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { ModuleLimits, Spent } from '@palyra/wasm';

/** One call of a guest, given as text or bytes. */
export interface GuestRun {
  readonly module: string | Uint8Array;
  /** An export without parameters; nothing but the start function is run unless told. */
  readonly call?: string;
  readonly fuel: bigint;
  readonly stack?: bigint;
  readonly limits?: Partial<ModuleLimits>;
}

export type GuestEnd =
  | { readonly kind: 'refused'; readonly code: string; readonly reason: string }
  | {
      readonly kind: 'returned' | 'trapped' | 'thrown' | 'overflowed';
      readonly what: string;
      readonly spent: Spent;
      readonly left: bigint;
      /** How often the guest called its host. */
      readonly ticks: number;
    };

export interface GuestThread {
  run(guest: GuestRun): Promise<GuestEnd>;
  close(): Promise<void>;
}

interface Wabt {
  parseWat(
    name: string,
    text: string,
    features: object,
  ): { toBinary(options: object): { readonly buffer: Uint8Array }; destroy(): void };
}

/** Also of proposals that we refuse: the attack is to bring them. */
const FEATURES = {
  exceptions: true,
  multi_memory: true,
  memory64: true,
  tail_call: true,
  threads: true,
  relaxed_simd: true,
};

let wabt: Promise<Wabt> | undefined;

/** WebAssembly text as bytes; nothing is checked but its form. */
export async function assembleText(text: string): Promise<Uint8Array> {
  wabt ??= import('wabt').then((loaded) => (loaded as unknown as { default: () => Promise<Wabt> }).default());
  const module = (await wabt).parseWat('guest.wat', text, FEATURES);
  try {
    return new Uint8Array(module.toBinary({}).buffer);
  } finally {
    module.destroy();
  }
}

/** A guest that never ends must not take the test with it. */
const LONGEST_MS = 20_000;

/** What V8 has where nobody says anything (984 KiB), with what Node keeps back of a thread's stack. */
const DEFAULT_STACK_MIB = (984 + 192) / 1024;

/** Meters and runs guests on a thread that is ended when one of them does not stop. */
export function openGuestThread(stackMib: number = DEFAULT_STACK_MIB): GuestThread {
  const worker = new Worker(new URL('./metered-guest-thread.ts', import.meta.url), {
    execArgv: ['--conditions=palyra-source'],
    // A thread has four megabytes unless told, so that guests would not meet an end that they meet elsewhere.
    resourceLimits: { stackSizeMb: stackMib },
  });
  return {
    async run(guest) {
      const { module, ...rest } = guest;
      const bytes = typeof module === 'string' ? await assembleText(module) : module;
      worker.postMessage({ ...rest, module: bytes });
      const deadline = AbortSignal.timeout(LONGEST_MS);
      try {
        const [end] = (await once(worker, 'message', { signal: deadline })) as [GuestEnd];
        return end;
      } catch (cause) {
        await worker.terminate();
        throw new Error('The guest did not stop.', { cause });
      }
    },
    async close() {
      await worker.terminate();
    },
  };
}
