import type { ConnectionAttempt } from '@palyra/egress';
import {
  type Clock,
  canonicalJson,
  type JsonObject,
  type JsonValue,
  type Sha256Hex,
  sha256OfJson,
} from '@palyra/primitives';
import { grantedFunctions, type PreparedProgram, type WasmLimits, type WasmOutcome } from '@palyra/wasm';
import { ANY_TYPES } from '../catalog/input-schema.ts';
import type { BoundCall, Tool, ToolMetadata, ToolPlan, ToolRefusal } from '../catalog/tool.ts';
import { type NamedNetwork, nameNetwork } from '../connections/named-network.ts';
import { DEFAULT_OPERATOR_NETWORK, type OperatorNetwork } from '../connections/operator-network.ts';
import type { Redactor } from '../redact/create-redactor.ts';
import type { LoadedModule } from '../wasm-hosts/loaded-module.ts';
import type { WasmHostAbout } from '../wasm-hosts/start-wasm-host.ts';
import type { GuestRequests } from '../wasm-hosts/wasm-fetch.ts';
import { REACHES_NOTHING } from './built-in-plan.ts';
import { recordEmitted } from './emitted-events.ts';
import { type ToldOutput, toldOutput } from './told-output.ts';
import { answerGuest, type WasmTools } from './wasm-answers.ts';
import { wasmRefusal, wasmResultOf } from './wasm-result.ts';

export interface WasmRunDeps {
  readonly wasm: WasmTools;
  readonly network?: OperatorNetwork;
  readonly redact?: Pick<Redactor, 'redactStream' | 'redactTerminal'>;
  readonly clock: Clock;
}

const EXECUTOR = 'sandbox_tier_a_wasm';

const METADATA: ToolMetadata = {
  name: 'palyra.wasm.run',
  version: '1',
  description:
    'Calls a WebAssembly module that the operator installed, with JSON in and JSON out. It has what the operator granted it, and a fixed amount of fuel.',
  inputSchema: {
    type: 'object',
    properties: {
      module: { type: 'string', description: 'Its name: `palyra module list`.', minLength: 1, maxLength: 64 },
      sha256: { type: 'string', description: 'Only if it is this one.', pattern: '^[0-9a-f]{64}$' },
      input: { type: [...ANY_TYPES], description: 'What it is given: JSON, or the standard input of a WASI command.' },
      args: {
        type: 'array',
        description: 'Arguments of a WASI command.',
        items: { type: 'string', maxLength: 65_536 },
        maxItems: 256,
      },
      fuel: {
        type: 'integer',
        description: 'No more than this; the operator’s limit holds, too.',
        minimum: 1,
        maximum: 1_000_000_000_000,
      },
    },
    required: ['module'],
    additionalProperties: false,
  },
  capabilities: [],
  isSensitive: true,
  tier: 'A',
  isParallel: true,
  isHidden: false,
};

interface WasmInput {
  readonly module: string;
  readonly sha256?: string;
  readonly input?: JsonValue;
  readonly args?: readonly string[];
  readonly fuel?: number;
}

interface Prepared {
  readonly module: LoadedModule;
  readonly program: PreparedProgram;
  readonly input: WasmInput;
}

export function createWasmRun(deps: WasmRunDeps): Tool {
  const { wasm, network = DEFAULT_OPERATOR_NETWORK } = deps;
  return {
    metadata: METADATA,
    async plan(value, place) {
      const input = value as unknown as WasmInput;
      const module = await wasm.load(input.module);
      if (module.kind === 'refused') return module;
      // SECURITY: T-04 — a caller that names a digest gets those bytes or nothing.
      if (input.sha256 !== undefined && input.sha256 !== module.sha256) return OTHER_BYTES;
      const notHeld = whyNotHeld(module, wasm);
      if (notHeld !== undefined) return notHeld;
      const limits = { ...module.limits, wallMs: Math.min(module.limits.wallMs ?? place.timeoutMs, place.timeoutMs) };
      const program = await wasm.runtime.prepare({
        bytes: module.bytes,
        grants: module.grants,
        limits,
        name: module.name,
      });
      if (program.kind === 'failed') return wasmRefusal(program);
      const named = nameNetwork(module.grants.http, network.privateRanges);
      if (named.kind === 'malformed') return denied(named.message);
      return planOf({ module, program, input }, { named, network });
    },
    async execute(permitted, context) {
      const { plan, run } = permitted;
      const { module, program, input } = plan.prepared as Prepared;
      const emitted = recordEmitted(context);
      const told = toldOutput(emitted, { redact: deps.redact, clock: deps.clock, isTerminal: false });
      const startedAt = deps.clock.now();
      const principal = run.caller.actor;
      const attempts = new Map<number, ConnectionAttempt>();
      const requests = wasm.fetch?.({
        hosts: module.grants.http,
        secrets: wasm.secrets?.(permitted, module.grants.secrets),
        onAttempt: (attempt) => void attempts.set(attempt.number, attempt),
      });
      const emitting = { left: program.limits.outputBytes, count: emitted.count };
      const answering = { module, principal, wasm, told, requests, emitting };
      const calling = wasm.runtime.call(program, {
        principal,
        input: bytesOf(program, input.input),
        args: input.args ?? [],
        fuel: fuelOf(program, input),
        signal: context.signal,
        answer: (name, body, over) => {
          const until = AbortSignal.any([context.signal, over]);
          return answerGuest({ name, body }, { ...answering, signal: until });
        },
      });
      const outcome = await untilClosed(calling, requests);
      await tellLog(told, outcome);
      return wasmResultOf(outcome, {
        program,
        executor: EXECUTOR,
        module,
        attempts: [...attempts.values()],
        emitted: emitted.taken(),
        startedAt,
        endedAt: deps.clock.now(),
        signal: context.signal,
      });
    },
  };
}

/** Then all that it connected to is known. */
async function untilClosed<Outcome>(calling: Promise<Outcome>, requests: GuestRequests | undefined): Promise<Outcome> {
  try {
    return await calling;
  } finally {
    await requests?.close();
  }
}

const OTHER_BYTES: ToolRefusal = {
  kind: 'refused',
  code: 'wasm.invalid_module',
  message: 'The module has another digest than the one that was asked for.',
  fix: '`palyra module list` shows the digests.',
};

/** SECURITY: T-27 — what nobody here can hold to its grant is refused as a whole, and not left out. */
function whyNotHeld({ grants }: LoadedModule, { hostFunctions, fetch, secrets }: WasmTools): ToolRefusal | undefined {
  const functions = grantedFunctions(grants);
  const beyond = functions.find((name) => !hostFunctions.includes(name));
  if (functions.includes('http_request') && fetch === undefined) {
    return denied('Its manifest grants http, and there is no egress proxy here to hold it to its hosts.');
  }
  if (functions.includes('secret_use') && secrets === undefined) {
    return denied('Its manifest grants secrets, and there is no vault here to take them from.');
  }
  if (grants.secrets.length > 0 && grants.http.length === 0) {
    return denied('Its manifest grants secrets, and no host that they could go to.');
  }
  if (beyond === undefined) return undefined;
  return denied(`Its manifest grants ${beyond}, which [wasm_runtime] host_functions does not allow.`);
}

function denied(message: string): ToolRefusal {
  return {
    kind: 'refused',
    code: 'wasm.capability_denied',
    message,
    fix: 'Have the operator change the grants of the module.',
  };
}

interface PlannedNetwork {
  readonly named: Extract<NamedNetwork, { kind: 'named' }>;
  readonly network: OperatorNetwork;
}

function planOf(prepared: Prepared, { named, network }: PlannedNetwork): ToolPlan {
  const { module, program, input } = prepared;
  const { grants } = module;
  const args = argumentsOf(prepared);
  const profile = profileOf(prepared);
  return {
    kind: 'planned',
    arguments: args,
    capabilities: [
      ...(grants.http.length > 0 ? (['network'] as const) : []),
      ...(grants.secrets.length > 0 ? (['secrets_read'] as const) : []),
    ],
    enforced: {
      ...REACHES_NOTHING,
      tier: 'A',
      hosts: named.hosts,
      registryHosts: named.hosts.filter((host) => network.registryHosts.includes(host)),
      privateHosts: named.privateHosts,
      secrets: grants.secrets,
    },
    declared: { executable: module.name, arguments: [...(input.args ?? [])], hosts: [], paths: [] },
    bind: async () => boundOf(module),
    profile,
    shown: { kind: 'call', name: METADATA.name, arguments: canonicalJson(args) },
    cwd: null,
    limits: limitsOf(prepared),
    executor: EXECUTOR,
    printed: {
      module: module.name,
      module_sha256: module.sha256,
      manifest_sha256: module.manifestSha256,
      abi: program.abi,
      functions: [...program.functions],
      profile_sha256: profile,
    },
    prepared,
  };
}

function argumentsOf({ module, input, program }: Prepared): JsonObject {
  return {
    module: module.name,
    sha256: module.sha256,
    input: input.input ?? null,
    args: [...(input.args ?? [])],
    fuel: fuelOf(program, input),
  };
}

/** SECURITY: T-03 — the manifest's own digest, and not what is understood of it: what is added later is in it, too. */
function profileOf({ module, program }: Prepared): Sha256Hex {
  return sha256OfJson({
    tier: 'A',
    module: module.sha256,
    manifest: module.manifestSha256,
    limits: { ...program.limits },
    functions: [...program.functions],
  });
}

function boundOf(module: LoadedModule): BoundCall {
  return {
    kind: 'bound',
    bound: [
      { name: `module ${module.name}`, sha256: module.sha256 },
      { name: `manifest of ${module.name}`, sha256: module.manifestSha256 },
    ],
    notBound: module.grants.kv ? ['What it has kept under its own keys in earlier calls.'] : [],
  };
}

function fuelOf({ limits }: PreparedProgram, { fuel }: WasmInput): number {
  return Math.min(fuel ?? limits.fuel, limits.fuel);
}

function limitsOf({ program, input }: Prepared): ToolPlan['limits'] {
  const { wallMs, memoryPages, outputBytes, hostCalls }: WasmLimits = program.limits;
  return {
    fuel: fuelOf(program, input),
    wall_ms: wallMs,
    memory_bytes: memoryPages * 65_536,
    output_bytes: outputBytes,
    host_calls: hostCalls,
  };
}

/** A WASI command reads text as it is, and everything else as JSON. */
function bytesOf({ abi }: PreparedProgram, input: JsonValue | undefined): Buffer {
  if (abi === 'wasi_command' && input === undefined) return Buffer.alloc(0);
  if (abi === 'wasi_command' && typeof input === 'string') return Buffer.from(input);
  return Buffer.from(canonicalJson(input ?? null));
}

async function tellLog(told: ToldOutput, outcome: WasmOutcome<WasmHostAbout>): Promise<void> {
  if (outcome.log.length > 0) await told.take('stderr', outcome.log).catch(() => undefined);
  await told.end(outcome.kind === 'completed' ? 'whole' : 'cut');
}
