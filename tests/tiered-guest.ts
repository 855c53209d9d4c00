import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { assembleText } from './metered-guest.ts';

/** V8's two compilers. Which of them has made a function when it is called depends on the machine and on chance. */
export const TIERS = ['--liftoff-only', '--no-liftoff'] as const;
export type Tier = (typeof TIERS)[number];

/** A guest by its text, whose export `f` is called. */
export interface TieredGuest {
  readonly module: string;
  /** Of the thread it runs on; what V8 has by default unless told. */
  readonly stackMib?: number;
}

/** How a guest ended; `left` in decimal. */
export interface TieredEnd {
  readonly kind: string;
  readonly what?: string;
  readonly spent?: string;
  readonly left?: string;
}

const PROGRAM = fileURLToPath(new URL('./tiered-guest-process.ts', import.meta.url));

/** Meters and runs guests in a process in which only one of V8's compilers works. */
export async function runInTier(tier: Tier, guests: readonly TieredGuest[]): Promise<readonly TieredEnd[]> {
  const tasks: object[] = [];
  for (const { module, stackMib } of guests) {
    const bytes = await assembleText(module);
    tasks.push({ module: Buffer.from(bytes).toString('base64'), stackMib });
  }
  const running = promisify(execFile)(process.execPath, ['--conditions=palyra-source', tier, PROGRAM]);
  running.child.stdin?.end(JSON.stringify(tasks));
  return JSON.parse((await running).stdout) as readonly TieredEnd[];
}
