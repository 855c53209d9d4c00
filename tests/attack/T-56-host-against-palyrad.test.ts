// T-56, T-39: a WASM host that was taken over turns against palyrad, which reads its pipe itself: floods, half words, silence.
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { startWasmHost, type WasmHostAbout } from '@palyra/gateway';
import { createSandbox, type Sandbox } from '@palyra/sandbox';
import type { HostEnd, StartHost } from '@palyra/wasm';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { HELLO, loadedFrame, resultFrame } from '../../packages/wasm/src/host/messages.ts';
import { assemble, ECHO } from '../wasm-guests/guests.ts';
import { RESULT } from '../wasm-guests/taken-host.ts';
import { callOn, openRuntime, told } from '../wasm-guests/wasm-place.ts';

const base = mkdtempSync('/tmp/palyra-taken-');
let sandbox: Sandbox;
let echo: Uint8Array;

beforeAll(async () => {
  const operator = { path: '/usr/bin:/bin', home: base, palyraHome: join(base, '.palyra'), environment: {} };
  sandbox = await createSandbox({ operator, logger: { error: () => undefined }, pool: 'off' });
  echo = await assemble(ECHO);
});
afterAll(async () => {
  await sandbox.close();
  rmSync(base, { recursive: true, force: true });
});

const FRAMES = {
  hello: HELLO,
  loaded: loadedFrame({ kind: 'ready', restorable: true }),
  result: resultFrame({ ...RESULT, id: 1 }),
};

/** Greets and has loaded, whatever it is told; `answer` sees to the rest. */
function intruder(answer: string): string {
  const frames = Object.entries(FRAMES).map(
    ([name, bytes]) => `${name} = Buffer.from('${bytes.toString('hex')}', 'hex')`,
  );
  return `const fs = require('fs'), ${frames.join(', ')};
    const say = (bytes, fd = 1) => { for (let at = 0; at < bytes.length; ) { try { at += fs.writeSync(fd, bytes, at); } catch (e) { if (e.code !== 'EAGAIN') throw e; } } };
    say(hello); say(loaded);
    ${answer}`;
}

/** When it has heard of its first call: the second frame, which says so in its fifth byte. */
const onCall = (act: string): string =>
  intruder(`let heard = Buffer.alloc(0);
    process.stdin.on('data', (bytes) => {
      heard = Buffer.concat([heard, bytes]);
      while (heard.length > 4 && heard.length >= 5 + heard.readUInt32LE(0)) {
        const type = heard[4];
        heard = heard.subarray(5 + heard.readUInt32LE(0));
        if (type === 2) { ${act} }
      }
    });`);

/** The very box and pipes of a host, with another program in it. */
function takenOver(program: string) {
  const ends: Promise<HostEnd>[] = [];
  const swapped: Pick<Sandbox, 'plan' | 'run'> = {
    plan: (command, profile) => sandbox.plan(command, profile),
    run({ argv: [node = ''] }, profile, options) {
      return sandbox.run({ argv: [node, '-e', program] }, profile, options);
    },
  };
  const startHost: StartHost<WasmHostAbout> = async (order) => {
    const started = await startWasmHost(swapped, order);
    if (started.kind === 'started') ends.push(started.host.ended);
    return started;
  };
  return { runtime: openRuntime(startHost), ends };
}

// None of them ends by itself when its pipes do: that might be before it is ended.
const IDLE: Readonly<Record<string, string>> = {
  'goes on and on that it has loaded': onCall(
    'say(result); const many = Buffer.concat(Array(1000).fill(loaded)); for (;;) try { say(many); } catch {}',
  ),
  'begins a frame that it does not end': onCall(
    "say(result); say(Buffer.from('ffff3f0042', 'hex')); setInterval(() => {}, 1000);",
  ),
  'floods its standard error': onCall(
    "say(result); const many = Buffer.alloc(65536, 'x'); for (;;) try { say(many, 2); } catch {}",
  ),
};

test.each(Object.entries(IDLE))('one that has answered, and then %s, is ended at once', async (_, program) => {
  const { runtime, ends } = takenOver(program);
  expect(told(await callOn(runtime, echo, { limits: { wallMs: 20_000 } }))).toBe('"mine"');
  // Not when it has been idle for long enough: nobody asked it anything.
  const [end] = await Promise.all(ends);
  // And not when it has said as much as any tool may: palyrad keeps that.
  expect(end?.message).toMatch(/^Its host ended \(cancelled\)/);
  await runtime.close();
});

const IN_A_CALL: Readonly<Record<string, readonly [string, string]>> = {
  'reads nothing of what palyrad writes': [intruder('setInterval(() => {}, 1000);'), 'timed_out'],
  'dies in the middle of its answer': [onCall('say(result.subarray(0, 20)); process.exit(0);'), 'host_error'],
};

test.each(Object.entries(IN_A_CALL))('one that %s costs its own call, and no other', async (_, [program, end]) => {
  const { runtime, ends } = takenOver(program);
  const place = openRuntime((order) => startWasmHost(sandbox, order));
  const large = Buffer.from(JSON.stringify('x'.repeat(1024 * 1024)));
  const taken = callOn(runtime, echo, { input: large, limits: { wallMs: 3_000 } });
  // Meanwhile palyrad has time for others.
  expect(told(await callOn(place, echo, { input: 1, limits: { wallMs: 20_000 } }))).toBe('1');
  expect(told(await taken)).toBe(end);
  expect(await Promise.all(ends)).toHaveLength(1);
  await Promise.all([runtime.close(), place.close()]);
});
