import { randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { HomeLayout } from '@palyra/config';
import type { Egress } from '@palyra/egress';
import {
  type BindCredentials,
  createSecretUseRecord,
  createWasmFetch,
  createWasmSecrets,
  type OperatorNetwork,
  type Redactor,
  startWasmHost,
  type ToolCallConfig,
  type WasmHostAbout,
  type WasmTools,
} from '@palyra/gateway';
import type { Journal } from '@palyra/journal';
import type { Clock, Logger } from '@palyra/primitives';
import type { Sandbox } from '@palyra/sandbox';
import { createInstrumentedCache, createInstrumenter, createWasmRuntime } from '@palyra/wasm';
import { moduleLoader, wasmLimitsOf } from './wasm-modules.ts';

export interface OpenedWasm extends Pick<WasmTools, 'runtime' | 'load' | 'hostFunctions'> {
  close(): Promise<void>;
}

export interface OpenWasmDeps {
  readonly home: HomeLayout;
  readonly sandbox: Sandbox;
  readonly config: ToolCallConfig['wasmRuntime'];
  readonly clock: Clock;
}

/** Tier A: nothing of it runs before the first call. */
export async function openWasm({ home, sandbox, config, clock }: OpenWasmDeps): Promise<OpenedWasm> {
  const instrumenter = createInstrumenter();
  const directory = join(home.root, 'metered');
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const key = await sealKey(join(home.identity, 'metered.key'));
  const cache = createInstrumentedCache({ directory, key, instrument: instrumenter.instrument });
  const runtime = createWasmRuntime<WasmHostAbout>({
    startHost: (order) => startWasmHost(sandbox, order),
    instrument: (bytes, limits) => cache.instrument(bytes, limits),
    clock,
    enabled: config.enabled,
    limits: wasmLimitsOf(config),
    lanes: { hosts: config.instances, hostsOfOne: Math.max(1, Math.ceil(config.instances / 2)) },
  });
  return {
    runtime,
    load: moduleLoader(home.modules, config),
    hostFunctions: config.hostFunctions,
    async close() {
      await runtime.close();
      await instrumenter.close();
    },
  };
}

export interface WasmWaysDeps {
  readonly egress: Pick<Egress, 'openFetches'>;
  readonly network: OperatorNetwork;
  readonly redactor: Redactor;
  readonly journal: Journal;
  readonly logger: Logger;
  readonly bind: BindCredentials | undefined;
}

/** What guests may be granted beyond themselves: requests, and secrets on them where something gives any out. */
export function wasmWays({ bind, journal, ...deps }: WasmWaysDeps): Pick<WasmTools, 'fetch' | 'secrets'> {
  const fetch = createWasmFetch(deps);
  if (bind === undefined) return { fetch };
  return { fetch, secrets: createWasmSecrets({ ...deps, bind, record: createSecretUseRecord(journal) }) };
}

/** With the other keys, and not beside what it seals. */
async function sealKey(path: string): Promise<Uint8Array> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  // Whoever is first has made it.
  await writeFile(path, randomBytes(32), { flag: 'wx', mode: 0o600 }).catch(() => undefined);
  return readFile(path);
}
