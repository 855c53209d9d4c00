import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startWasmHost, type WasmHostAbout } from '@palyra/gateway';
import { systemClock } from '@palyra/primitives';
import { createSandbox } from '@palyra/sandbox';
import { createInstrumenter, createWasmRuntime, NO_GRANTS, type WasmOutcome, type WasmRuntime } from '@palyra/wasm';
import type { Stage } from './stage.ts';

const WORDS = new URL('../../examples/wasm/assemblyscript/words.wasm', import.meta.url);
/** `(loop $again (br $again))`, and nothing else. */
const SPIN =
  'AGFzbQEAAAABDQJgAX8Bf2ADfn9/AX4DAwIAAQUDAQABBycDBm1lbW9yeQIADHBhbHlyYV9hbGxvYwAAC3BhbHlyYV9jYWxsAAEKEQIFAEGACAsJAANADAALQgAL';
const FUEL = 50_000_000;

/** A real module in a real host, and one that never ends. */
export async function showWasm({ home, say }: Stage): Promise<void> {
  const operator = { path: '/usr/bin:/bin', home, palyraHome: join(home, '.palyra'), environment: {} };
  const sandbox = await createSandbox({
    operator,
    logger: { error: (fields, message) => say(`${message} ${JSON.stringify(fields)}`) },
  });
  const instrumenter = createInstrumenter();
  const runtime = createWasmRuntime({
    startHost: (order) => startWasmHost(sandbox, order),
    instrument: instrumenter.instrument,
    clock: systemClock,
  });
  try {
    await play(runtime, say);
  } finally {
    await runtime.close();
    await instrumenter.close();
    await sandbox.close();
  }
}

async function play(runtime: WasmRuntime<WasmHostAbout>, say: Stage['say']): Promise<void> {
  const words = await caller(runtime, await readFile(WORDS));
  const [first, again] = [await words('"three little words"'), await words('"three little words"')];
  assert.ok(first.kind === 'completed' && again.kind === 'completed');
  assert.equal(Buffer.from(first.output).toString(), '{"bytes":20,"words":3}');
  assert.ok(again.fuelUsed === first.fuelUsed && again.reused && !first.reused);
  say(
    `words.wasm: ${Buffer.from(first.output).toString()} for ${first.fuelUsed} units of fuel, and as many the second time,`,
  );
  say('on the same instance, put back as it was: nothing of the first call was left in it.');
  const [tool] = first.host.facts?.processes ?? [];
  say(`Its process: network ${first.host.facts?.network}, seccomp ${tool?.seccomp}, no files but its own program.`);

  const spin = await caller(runtime, Buffer.from(SPIN, 'base64'));
  const stopped = await spin('null');
  assert.ok(stopped.kind === 'failed' && stopped.failure === 'fuel_exhausted');
  say(`An endless loop with ${FUEL} units of fuel: ${stopped.failure}, after the same instruction on every machine.`);
}

async function caller(runtime: WasmRuntime<WasmHostAbout>, bytes: Uint8Array) {
  const program = await runtime.prepare({
    bytes,
    grants: NO_GRANTS,
    name: 'demo',
    limits: { fuel: FUEL, wallMs: 30_000 },
  });
  if (program.kind === 'failed') throw new Error(program.message);
  return (input: string): Promise<WasmOutcome<WasmHostAbout>> =>
    runtime.call(program, { principal: 'agent:demo', input: Buffer.from(input) });
}
