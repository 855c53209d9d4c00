import { systemClock } from '@palyra/primitives';
import { expect, test } from 'vitest';
import { createWasmRuntime, type PreparedProgram } from './create-wasm-runtime.ts';
import { instrument } from './instrument.ts';
import { NO_GRANTS } from './wasm-grants.ts';

function runtimeThat(enabled: boolean) {
  const did: string[] = [];
  const runtime = createWasmRuntime<never>({
    enabled,
    clock: systemClock,
    async startHost() {
      did.push('start');
      return { kind: 'refused', message: 'There is none here.', fix: undefined };
    },
    async instrument(bytes, limits) {
      did.push('meter');
      return instrument(bytes, limits);
    },
  });
  return { runtime, did };
}

const HEAD = [0x00, 0x61, 0x73, 0x6d];
const EMPTY = Uint8Array.from([...HEAD, 0x01, 0x00, 0x00, 0x00]);
const COMPONENT = Uint8Array.from([...HEAD, 0x0d, 0x00, 0x01, 0x00]);

test('switched off it does nothing at all, and says so', async () => {
  const { runtime, did } = runtimeThat(false);
  const prepared = await runtime.prepare({ bytes: EMPTY, grants: NO_GRANTS, name: 'empty' });
  expect(prepared).toMatchObject({ kind: 'failed', failure: 'disabled', fix: expect.stringContaining('enabled') });
  const called = await runtime.call({} as PreparedProgram, { principal: 'agent:one', input: new Uint8Array() });
  expect(called).toMatchObject({ kind: 'failed', failure: 'disabled', host: undefined });
  expect([did, runtime.hosts()]).toEqual([[], 0]);
});

test.each([
  ['a component', COMPONENT, /component model/],
  ['a module without an entry', EMPTY, /exports neither palyra_call/],
])('%s is an invalid module, in words that say which', async (_, bytes, message) => {
  const { runtime, did } = runtimeThat(true);
  const prepared = await runtime.prepare({ bytes, grants: NO_GRANTS, name: 'guest' });
  expect(prepared).toMatchObject({
    kind: 'failed',
    failure: 'invalid_module',
    message: expect.stringMatching(message),
  });
  expect(did).toEqual(['meter']);
});
