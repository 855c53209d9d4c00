import { pathToFileURL } from 'node:url';
import { startWasmHost } from '@palyra/gateway';
import { systemClock } from '@palyra/primitives';
import { createSandbox, type Sandbox } from '@palyra/sandbox';
import { createInstrumenter, createWasmRuntime, NO_GRANTS } from '@palyra/wasm';
import { type Contender, defineBenchmark, type NotMeasured, type Workload } from './harness.ts';
import { rivalPackage } from './install-rivals.ts';
import { OPERATOR, quiet } from './sandbox-place.ts';
import { makeGuests, type WasmGuests } from './wasm-guests.ts';

interface Place extends WasmGuests {
  readonly sandbox: Sandbox;
}

/** Calls on their way at once: enough that two hosts always have one. */
const IN_FLIGHT = 32;

/**
 * 256 bytes of JSON there and back. `call`: one after the other through a warm host inside Tier C, metered, its instance put
 * back each time. `calls-2-hosts`: many at once on two hosts. `extism-worker`: Extism's plugin in its worker thread, which
 * neither meters nor isolates.
 */
export default defineBenchmark<Place>({
  name: 'wasm',
  description: 'Calls of a WebAssembly module through a sandboxed host, against Extism in a worker thread',
  baseline: 'call',
  ratioOf: 'p50_ms',
  defaults: { rounds: 3, seconds: 4 },
  setup: async () => ({ ...(await makeGuests()), sandbox: await createSandbox({ operator: OPERATOR, logger: quiet }) }),
  teardown: ({ sandbox }) => sandbox.close(),
  contenders: [
    { name: 'call', prepare: (place) => ours(place, 1) },
    { name: 'calls-2-hosts', concurrency: IN_FLIGHT, prepare: (place) => ours(place, 2) },
    { name: 'extism-worker', prepare: extism } satisfies Contender<Place>,
  ],
});

async function ours({ sandbox, ours: bytes, input }: Place, hosts: number): Promise<Workload> {
  const instrumenter = createInstrumenter();
  const runtime = createWasmRuntime({
    startHost: (order) => startWasmHost(sandbox, order),
    instrument: instrumenter.instrument,
    clock: systemClock,
    lanes: { hosts, hostsOfOne: hosts },
  });
  const program = await runtime.prepare({ bytes, grants: NO_GRANTS, name: 'echo' });
  if (program.kind === 'failed') throw new Error(program.message);
  const call = async () => {
    const outcome = await runtime.call(program, { principal: 'bench', input });
    if (outcome.kind !== 'completed' || outcome.output.length !== input.length) throw new Error(outcome.kind);
  };
  // All hosts are there before anything is measured.
  while (runtime.hosts() < hosts) await Promise.all(Array.from({ length: IN_FLIGHT }, call));
  return {
    operation: call,
    async close() {
      await runtime.close();
      await instrumenter.close();
    },
  };
}

/** As much of its interface as we use; it is installed only when asked for, so its types may not be there. */
interface ExtismModule {
  createPlugin(
    manifest: { readonly wasm: readonly { readonly data: Uint8Array }[] },
    options: { readonly runInWorker: boolean; readonly useWasi: boolean },
  ): Promise<{
    call(name: string, input: Uint8Array): Promise<{ bytes(): Uint8Array } | null>;
    close(): Promise<void>;
  }>;
}

async function extism({ extism: data, input }: Place): Promise<Workload | NotMeasured> {
  try {
    const { href } = pathToFileURL(`${await rivalPackage('@extism/extism')}/dist/esm/mod.js`);
    const { createPlugin }: ExtismModule = await import(href);
    const plugin = await createPlugin({ wasm: [{ data }] }, { runInWorker: true, useWasi: false });
    return {
      async operation() {
        const output = await plugin.call('echo', input);
        if (output?.bytes().length !== input.length) throw new Error('It did not say it again.');
      },
      close: () => plugin.close(),
    };
  } catch (error) {
    return { notMeasured: error instanceof Error ? error.message : String(error) };
  }
}
