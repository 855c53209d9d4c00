import { text } from 'node:stream/consumers';
import { type GuestEnd, openGuestThread } from './metered-guest.ts';

interface Task {
  readonly module: string;
  readonly stackMib?: number;
}

/** More than any of them can use. */
const FUEL = 10n ** 12n;

async function run({ module, stackMib }: Task): Promise<GuestEnd> {
  // V8's flags hold for the thread as well.
  const thread = openGuestThread(stackMib);
  try {
    return await thread.run({ module: new Uint8Array(Buffer.from(module, 'base64')), call: 'f', fuel: FUEL });
  } finally {
    await thread.close();
  }
}

/** Runs the guests that are told on standard input one after another, and tells how they ended. */
const ends: GuestEnd[] = [];
for (const task of JSON.parse(await text(process.stdin)) as readonly Task[]) ends.push(await run(task));
console.log(JSON.stringify(ends, (_key, value: unknown) => (typeof value === 'bigint' ? String(value) : value)));
