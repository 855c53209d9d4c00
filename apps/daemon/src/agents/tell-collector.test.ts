import { type Duplex, duplexPair } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import type { Caller, ToolCallResult } from '@palyra/gateway';
import { systemClock } from '@palyra/primitives';
import { createCaptureLogger } from '@palyra/testkit';
import { expect, test } from 'vitest';
import { createHeldCommands } from './held-commands.ts';
import { hookKeyOf } from './hook-frames.ts';
import { createOutputChannel } from './output-channel.ts';
import { tellCollector } from './tell-collector.ts';

const KEY = hookKeyOf(Buffer.alloc(32, 7));
const ID = '01M7K48D0SBA2350575B6HPHYE';
const DONE = { decision: { kind: 'allow' }, outcome: { kind: 'completed', exit_code: 0 } } as ToolCallResult;
const CANCELLED = {
  decision: { kind: 'allow' },
  outcome: { kind: 'cancelled', code: 'tool.cancelled', message: 'It was cancelled.' },
} as ToolCallResult;

/** A command of `owner` that waits, and somebody who comes for it as `comer`. */
function command({ owner = 'a', comer = async () => 'a', clock = systemClock, stopping = new AbortController() } = {}) {
  const output = createOutputChannel();
  const result = Promise.withResolvers<ToolCallResult>();
  const held = createHeldCommands({ clock: systemClock });
  let cancels = 0;
  const cancel = () => {
    cancels += 1;
    output.close();
    result.resolve(CANCELLED);
  };
  const over = new AbortController();
  const came = held.hold(ID, { credential: owner, output, result: result.promise, cancel }, over.signal);
  const sessions = {
    caller: async () => ({ credential: await comer() }) as Caller,
    collect: held.collect,
  };
  const deps = { sessions, clock, stopping: stopping.signal, logger: createCaptureLogger().logger };
  return {
    output,
    result,
    came,
    over,
    deps,
    cancels: () => cancels,
    tell: (socket: Duplex, unwanted = new AbortController().signal, callId = ID) =>
      tellCollector({ nonce: Buffer.alloc(32, 1), callId }, { socket, key: KEY, unwanted }, deps),
  };
}

/** What was told, without its signatures. */
async function toldTo(socket: Duplex): Promise<readonly [number, string][]> {
  const all = Buffer.concat(await socket.toArray());
  const frames: [number, string][] = [];
  for (let at = 0; at < all.length; ) {
    const end = at + 5 + all.readUInt32BE(at + 1);
    frames.push([all[at] ?? 0, all.toString('latin1', at + 5, end)]);
    at = end + 32;
  }
  return frames;
}

test('it is told what comes out, and how it ended', async () => {
  const { output, result, tell } = command();
  const [inside, outside] = duplexPair();
  const telling = tell(outside);
  await output.push({ stream: 'stdout', bytes: new Uint8Array(Buffer.from('one')) });
  await output.push({ stream: 'stderr', bytes: new Uint8Array(Buffer.from('two')) });
  output.close();
  result.resolve(DONE);
  expect(await toldTo(inside)).toEqual([
    [1, 'one'],
    [2, 'two'],
    [3, '\0'],
  ]);
  await telling;
});

test('a piece that nobody takes holds the command up, and more than a frame is several', async () => {
  const { output, result, tell } = command();
  const [inside, outside] = duplexPair({ highWaterMark: 1024 });
  void tell(outside);
  await output.push({ stream: 'stdout', bytes: new Uint8Array(150_000).fill(97) });
  let isTaken = false;
  const next = output.push({ stream: 'stdout', bytes: new Uint8Array(1).fill(98) }).then(() => {
    isTaken = true;
  });
  for (let i = 0; i < 50; i += 1) await turn();
  expect(isTaken).toBe(false);
  const told = toldTo(inside);
  await next;
  output.close();
  result.resolve(DONE);
  expect((await told).map(([kind, text]) => [kind, text.length])).toEqual([
    [1, 65_536],
    [1, 65_536],
    [1, 18_928],
    [1, 1],
    [3, 1],
  ]);
});

test('SECURITY: T-41 — another one’s command is not there, and stays where it is', async () => {
  const { tell, came, over } = command({ owner: 'b' });
  const [inside, outside] = duplexPair();
  await tell(outside);
  const [[kind, text] = [0, '']] = await toldTo(inside);
  expect([kind, text.charCodeAt(0)]).toEqual([3, 248]);
  expect(text).toContain('error[gateway.call_not_found]');
  over.abort();
  expect(await came).toBe(false);
});

test('SECURITY: T-05 — one runs for whoever comes first, and for nobody else', async () => {
  const { tell, result, output, cancels } = command();
  const [one, other] = [duplexPair(), duplexPair()];
  const telling = [tell(one[1]), tell(other[1])];
  const [second] = await toldTo(other[0]);
  expect(second?.[1].charCodeAt(0)).toBe(248);
  expect(cancels()).toBe(0);
  output.close();
  result.resolve(DONE);
  expect(await toldTo(one[0])).toEqual([[3, '\0']]);
  await Promise.all(telling);
});

test.each([
  ['that is no id', 'x', 241, 'primitives.invalid_id'],
  ['that nobody knows', '00000000000000000000000000', 248, 'gateway.call_not_found'],
])('an id %s is told so', async (_name, id, exit, code) => {
  const { tell, over } = command();
  const [inside, outside] = duplexPair();
  await tell(outside, undefined, id);
  const [[, text] = [0, '']] = await toldTo(inside);
  expect(text.charCodeAt(0)).toBe(exit);
  expect(text).toContain(`error[${code}]`);
  over.abort();
});

test('who half hangs up, before or after, has the command ended, and hears how', async () => {
  for (const isBefore of [true, false]) {
    const { tell, cancels } = command();
    const [inside, outside] = duplexPair();
    const unwanted = new AbortController();
    if (isBefore) unwanted.abort();
    const telling = tell(outside, unwanted.signal);
    await turn();
    unwanted.abort();
    const [[, text] = [0, '']] = await toldTo(inside);
    expect(text).toBe('\xf9error[tool.cancelled]: It was cancelled.\n');
    expect(cancels()).toBeGreaterThan(0);
    await telling;
  }
});

test('who is gone while it holds the command up has it ended', async () => {
  const { output, tell, cancels } = command();
  const [, outside] = duplexPair({ highWaterMark: 1024 });
  const telling = tell(outside);
  await output.push({ stream: 'stdout', bytes: new Uint8Array(150_000) });
  await turn();
  outside.destroy();
  await telling;
  expect(cancels()).toBeGreaterThan(0);
});

test('SECURITY: T-35 — who counts no longer while it runs is hung up on, and the command ends', async () => {
  let counts = true;
  const comer = async () => {
    if (!counts) throw new Error('revoked');
    return 'a';
  };
  const looks = Promise.withResolvers<void>();
  // Looked at once: without time between it nothing else would have its turn.
  const sleeps = [looks.promise];
  const clock = { ...systemClock, sleep: () => sleeps.shift() ?? new Promise<void>(() => undefined) };
  const { tell, cancels } = command({ comer, clock });
  const [, outside] = duplexPair();
  const unwanted = new AbortController();
  outside.once('close', () => unwanted.abort());
  const telling = tell(outside, unwanted.signal);
  await turn();
  expect([outside.destroyed, cancels()]).toEqual([false, 0]);
  counts = false;
  looks.resolve();
  await telling;
  expect(outside.destroyed).toBe(true);
  expect(cancels()).toBeGreaterThan(0);
});

test('who does not count, or comes while palyrad ends, gets nothing', async () => {
  const stopping = new AbortController();
  stopping.abort();
  const revoked = async (): Promise<string> => {
    throw new Error('/home/ada/secret');
  };
  for (const [options, exit] of [
    [{ stopping }, 244],
    [{ comer: revoked }, 241],
  ] as const) {
    const { tell, came, over } = command(options);
    const [inside, outside] = duplexPair();
    await tell(outside);
    const [[, text] = [0, '']] = await toldTo(inside);
    expect(text.charCodeAt(0)).toBe(exit);
    expect(text).not.toContain('secret');
    over.abort();
    expect(await came).toBe(false);
  }
});
