import {
  type Config,
  type ModuleManifest,
  namesIn,
  readModule,
  type StoredFile,
  type StoredModule,
} from '@palyra/config';
import type { LoadedModule, ToolCallConfig, ToolRefusal } from '@palyra/gateway';
import { describeError, type Sha256Hex } from '@palyra/primitives';
import type { GrantedEntry, GrantedPrefix, WasmGrants, WasmLimits } from '@palyra/wasm';

/** What `[wasm_runtime]` says, as tool calls have it. */
export function wasmRuntimeOf({ wasm_runtime: settings }: Config): ToolCallConfig['wasmRuntime'] {
  return {
    enabled: settings.enabled,
    fuelBudget: settings.fuel_budget,
    memoryBytes: settings.memory_bytes,
    tableElements: settings.table_elements,
    instances: settings.instances,
    hostFunctions: namesIn(settings.host_functions),
    moduleBytes: settings.module_bytes,
    wallMs: settings.wall_ms,
    outputBytes: settings.output_bytes,
    hostCalls: settings.host_calls,
  };
}

const PAGE = 65_536;

/** The most that a call may use, whatever its manifest says. */
export function wasmLimitsOf(runtime: ToolCallConfig['wasmRuntime']): Partial<WasmLimits> {
  return {
    moduleBytes: runtime.moduleBytes,
    fuel: runtime.fuelBudget,
    memoryPages: Math.max(1, Math.floor(runtime.memoryBytes / PAGE)),
    tableElements: runtime.tableElements,
    wallMs: runtime.wallMs,
    outputBytes: runtime.outputBytes,
    hostCalls: runtime.hostCalls,
  };
}

/** Modules of the home, read anew for each call: what the operator changed holds at once. Refusals are values. */
export function moduleLoader(directory: string, runtime: ToolCallConfig['wasmRuntime']) {
  return async (name: string): Promise<LoadedModule | ToolRefusal> => {
    try {
      return loaded(await readModule(directory, name), runtime);
    } catch (error) {
      const { message, fix } = describeError(error);
      return { kind: 'refused', code: 'wasm.invalid_module', message, fix };
    }
  };
}

function loaded(stored: StoredModule, runtime: ToolCallConfig['wasmRuntime']): LoadedModule {
  const { name, bytes, manifest, manifestSha256, files } = stored;
  return {
    kind: 'loaded',
    name,
    bytes,
    sha256: manifest.sha256 as Sha256Hex,
    manifestSha256: manifestSha256 as Sha256Hex,
    grants: grantsOf(manifest, files),
    limits: limitsOf(manifest.limits, runtime),
  };
}

function grantsOf({ grants }: ModuleManifest, files: readonly StoredFile[]): WasmGrants {
  const { files: place, scratch, ...rest } = grants;
  const given: GrantedPrefix[] = place === '' ? [] : [{ path: place, access: 'read', entries: files.map(entryOf) }];
  return { ...rest, prefixes: [...given, ...scratch.map((path) => ({ path, access: 'write' as const, entries: [] }))] };
}

function entryOf(file: StoredFile): GrantedEntry {
  if (file.kind !== 'file') return file;
  return { kind: 'file', path: file.path, base64: Buffer.from(file.content).toString('base64') };
}

/** A manifest lowers limits, and never raises one. */
function limitsOf(limits: ModuleManifest['limits'], runtime: ToolCallConfig['wasmRuntime']): Partial<WasmLimits> {
  const most = wasmLimitsOf(runtime);
  const least = (wanted: number | undefined, limit = Infinity) => Math.min(wanted ?? limit, limit);
  return {
    ...most,
    fuel: least(limits.fuel, most.fuel),
    memoryPages: least(
      limits.memory_bytes === undefined ? undefined : Math.ceil(limits.memory_bytes / PAGE),
      most.memoryPages,
    ),
    wallMs: least(limits.wall_ms, most.wallMs),
    outputBytes: least(limits.output_bytes, most.outputBytes),
    hostCalls: least(limits.host_calls, most.hostCalls),
  };
}
