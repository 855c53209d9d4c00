import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { startWasmHost, type WasmHostAbout } from '@palyra/gateway';
import { systemClock } from '@palyra/primitives';
import { createSandbox, type Sandbox } from '@palyra/sandbox';
import {
  createWasmRuntime,
  instrument,
  NO_GRANTS,
  type StartHost,
  type WasmCall,
  type WasmGrants,
  type WasmLimits,
  type WasmOutcome,
  type WasmRuntime,
  type WasmRuntimeDeps,
} from '@palyra/wasm';

type Outcome = WasmOutcome<WasmHostAbout>;

export interface Wanted extends Partial<Omit<WasmCall, 'input'>> {
  readonly grants?: Partial<WasmGrants>;
  readonly limits?: Partial<WasmLimits>;
  /** JSON, or bytes as they are. */
  readonly input?: unknown;
}

/** Real hosts in real boxes, and nothing else of palyrad. */
export interface WasmPlace extends AsyncDisposable {
  readonly sandbox: Sandbox;
  readonly runtime: WasmRuntime<WasmHostAbout>;
  /** What was started so far. */
  readonly started: number;
  call(module: Uint8Array, wanted?: Wanted): Promise<Outcome>;
}

export async function openWasmPlace(
  changes: Partial<Pick<WasmRuntimeDeps<WasmHostAbout>, 'limits' | 'lanes' | 'enabled'>> = {},
): Promise<WasmPlace> {
  const base = mkdtempSync('/tmp/palyra-wasm-');
  const operator = { path: '/usr/bin:/bin', home: base, palyraHome: join(base, '.palyra'), environment: {} };
  const sandbox = await createSandbox({ operator, logger: { error: () => undefined }, pool: 'off' });
  let started = 0;
  const runtime = openRuntime((order) => {
    started += 1;
    return startWasmHost(sandbox, order);
  }, changes);
  return {
    sandbox,
    runtime,
    get started() {
      return started;
    },
    call: (module, wanted = {}) => callOn(runtime, module, wanted),
    async [Symbol.asyncDispose]() {
      await runtime.close();
      await sandbox.close();
      rmSync(base, { recursive: true, force: true });
    },
  };
}

export function openRuntime<About>(
  startHost: StartHost<About>,
  changes: Partial<WasmRuntimeDeps<About>> = {},
): WasmRuntime<About> {
  return createWasmRuntime({
    startHost,
    instrument: async (bytes, limits) => instrument(bytes, limits),
    clock: systemClock,
    ...changes,
  });
}

export async function callOn<About>(
  runtime: WasmRuntime<About>,
  bytes: Uint8Array,
  { grants, limits, input = null, ...call }: Wanted,
): Promise<WasmOutcome<About>> {
  const program = await runtime.prepare({
    bytes,
    grants: { ...NO_GRANTS, ...grants },
    name: 'guest',
    ...(limits === undefined ? {} : { limits }),
  });
  if (program.kind === 'failed') return program;
  return runtime.call(program, {
    principal: 'agent:one',
    input: input instanceof Uint8Array ? input : Buffer.from(JSON.stringify(input)),
    ...call,
  });
}

/** What a call gave, or why it did not, in one word and a value. */
export function told(outcome: WasmOutcome): unknown {
  if (outcome.kind === 'completed') return Buffer.from(outcome.output).toString();
  return outcome.kind === 'failed' ? outcome.failure : outcome.kind;
}
