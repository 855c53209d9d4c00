import { canonicalJson, type JsonObject } from '@palyra/primitives';
import type { Database } from '@palyra/storage';
import type { AskedFunction, HostAnswer, WasmRuntime } from '@palyra/wasm';
import type { ToolRefusal } from '../catalog/tool.ts';
import type { GatewaySchema } from '../store/gateway-schema.ts';
import type { WasmSecrets } from '../wasm-hosts/guest-secrets.ts';
import type { LoadedModule } from '../wasm-hosts/loaded-module.ts';
import type { WasmHostAbout } from '../wasm-hosts/start-wasm-host.ts';
import type { GuestRequests, WasmFetch } from '../wasm-hosts/wasm-fetch.ts';
import { refused, wasmKeysOf } from '../wasm-hosts/wasm-keys.ts';
import type { ToldOutput } from './told-output.ts';
import { jsonOf } from './wasm-json.ts';

export interface WasmTools {
  readonly runtime: Pick<WasmRuntime<WasmHostAbout>, 'prepare' | 'call'>;
  /** By name, as the operator put it there. Refusals are values. */
  load(name: string): Promise<LoadedModule | ToolRefusal>;
  readonly database: Database<GatewaySchema>;
  /** What modules may be granted at all. */
  readonly hostFunctions: readonly string[];
  /** Absent: no module can be granted it, and one that is is refused. */
  readonly fetch?: WasmFetch;
  readonly secrets?: WasmSecrets;
}

export interface Answering {
  readonly module: LoadedModule;
  readonly principal: string;
  readonly wasm: WasmTools;
  readonly told: ToldOutput;
  /** What it may still emit, in bytes, and who counts what it has. */
  readonly emitting: { left: number; count(): void };
  /** Absent where there is nothing to go through. */
  readonly requests: GuestRequests | undefined;
  /** Aborted when nobody waits for the answer any more. */
  readonly signal: AbortSignal;
}

export interface Question {
  readonly name: AskedFunction;
  readonly body: Buffer;
}

/** Under the grants of its module, which `wasm` has compared already. Throws what the database throws. */
export async function answerGuest(
  { name, body }: Question,
  { module, principal, wasm, told, emitting, requests, signal }: Answering,
): Promise<HostAnswer> {
  const keys = wasmKeysOf(wasm.database, { principal, module: module.name });
  switch (name) {
    case 'kv_get':
      return keys.get(body);
    case 'kv_put': {
      const length = body.length < 4 ? body.length : body.readUInt32LE(0);
      if (body.length < 4 + length) return refused('That is no key and value.');
      return keys.put(body.subarray(4, 4 + length), body.subarray(4 + length));
    }
    case 'kv_delete':
      return keys.remove(body);
    case 'kv_list':
      return keys.list(body);
    case 'emit': {
      const event = requestOf(body);
      if (event === undefined) return refused('An event is a JSON object.');
      const line = Buffer.from(`${canonicalJson(event)}\n`);
      // SECURITY: T-26 — events are output: all of a call are within its limit, and what is beyond is told to nobody.
      if (line.length > emitting.left) return refused('It emits more than it may put out.');
      emitting.left -= line.length;
      await told.take('stdout', line);
      emitting.count();
      return { status: 0, body: Buffer.alloc(0) };
    }
    case 'http_request': {
      const request = requestOf(body);
      if (request === undefined || requests === undefined) return refused('A request is a JSON object.');
      return requests.fetch(request, signal);
    }
    case 'secret_use': {
      const request = requestOf(body);
      if (request === undefined || requests === undefined) return refused('A request is a JSON object.');
      return requests.useSecret(request, signal);
    }
  }
}

function requestOf(body: Buffer): JsonObject | undefined {
  const value = jsonOf(body);
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined;
}
