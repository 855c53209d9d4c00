import type { ConnectionAttempt } from '@palyra/egress';
import type { JsonObject } from '@palyra/primitives';
import { type PreparedProgram, WASM_FAILURES, type WasmFailureKind, type WasmOutcome } from '@palyra/wasm';
import type { ExecutionFacts, ToolRefusal, ToolResult } from '../catalog/tool.ts';
import { attestedUse } from '../connections/network-use.ts';
import type { LoadedModule } from '../wasm-hosts/loaded-module.ts';
import type { WasmHostAbout } from '../wasm-hosts/start-wasm-host.ts';
import type { EmittedEvents } from './emitted-events.ts';
import { enforcementOf, measuredSandbox } from './measured-sandbox.ts';
import { timeIsOver } from './time-is-over.ts';
import { jsonOf } from './wasm-json.ts';

/** Codes are API: add one, never rename one. How a call of a module can end. */
export const WASM_OUTCOMES: Readonly<Record<`wasm.${WasmFailureKind | 'exited'}`, string>> = {
  'wasm.disabled': WASM_FAILURES.disabled,
  'wasm.invalid_module': WASM_FAILURES.invalid_module,
  'wasm.capability_denied': WASM_FAILURES.capability_denied,
  'wasm.fuel_exhausted': WASM_FAILURES.fuel_exhausted,
  'wasm.depth_exceeded': WASM_FAILURES.depth_exceeded,
  'wasm.memory_exceeded': WASM_FAILURES.memory_exceeded,
  'wasm.timed_out': WASM_FAILURES.timed_out,
  'wasm.trapped': WASM_FAILURES.trapped,
  'wasm.output_too_large': WASM_FAILURES.output_too_large,
  'wasm.host_error': WASM_FAILURES.host_error,
  'wasm.exited': 'The program ended with an exit code that is not 0.',
};

type Outcome = WasmOutcome<WasmHostAbout>;
type Failed = Extract<Outcome, { kind: 'failed' }>;

export function wasmRefusal({ failure, message, fix }: Pick<Failed, 'failure' | 'message' | 'fix'>): ToolRefusal {
  return { kind: 'refused', code: `wasm.${failure}`, message, fix };
}

export interface WasmCallFacts {
  readonly program: PreparedProgram;
  readonly module: LoadedModule;
  readonly executor: string;
  readonly startedAt: number;
  readonly endedAt: number;
  readonly signal: AbortSignal;
  readonly attempts: readonly ConnectionAttempt[];
  readonly emitted: EmittedEvents | undefined;
}

/** What is told and attested of a call. */
export function wasmResultOf(outcome: Outcome, facts: WasmCallFacts): ToolResult {
  if (outcome.kind === 'failed' && outcome.host === undefined) return wasmRefusal(outcome);
  const ran = ranOf(outcome, facts);
  const events = facts.emitted === undefined ? {} : { events: { ...facts.emitted } };
  const counted = { fuel_used: outcome.fuelUsed, host_calls: outcome.hostCalls, ...events };
  switch (outcome.kind) {
    case 'completed':
      return completed(outcome, { ran, counted, facts });
    case 'cancelled': {
      const isLate = timeIsOver(facts.signal);
      if (isLate)
        return { kind: 'timed_out', code: 'wasm.timed_out', message: WASM_FAILURES.timed_out, ran, output: counted };
      return { kind: 'cancelled', code: 'tool.cancelled', message: 'It was cancelled.', ran, output: counted };
    }
    case 'failed': {
      const { failure, message, fix } = outcome;
      return { kind: KIND_OF[failure], code: `wasm.${failure}`, message, fix, ran, output: counted };
    }
  }
}

const KIND_OF: Readonly<Record<WasmFailureKind, 'failed' | 'timed_out' | 'quota_exceeded'>> = {
  disabled: 'failed',
  invalid_module: 'failed',
  capability_denied: 'failed',
  fuel_exhausted: 'quota_exceeded',
  depth_exceeded: 'quota_exceeded',
  memory_exceeded: 'quota_exceeded',
  timed_out: 'timed_out',
  trapped: 'failed',
  output_too_large: 'quota_exceeded',
  host_error: 'failed',
};

interface Told {
  readonly ran: ExecutionFacts;
  readonly counted: JsonObject;
  readonly facts: WasmCallFacts;
}

function completed(outcome: Extract<Outcome, { kind: 'completed' }>, { ran, counted, facts }: Told): ToolResult {
  const { exitCode } = outcome;
  const value = jsonOf(outcome.output);
  if (facts.program.abi === 'palyra') {
    if (value !== undefined) return { kind: 'completed', output: { ...counted, output: value }, ran };
    const message = 'What it put out is not JSON.';
    return { kind: 'failed', code: 'wasm.trapped', message, ran, output: counted };
  }
  const told = {
    stdout: outcome.output,
    exitCode,
    ran,
    output: { ...counted, ...(value === undefined ? {} : { output: value }) },
  };
  if (exitCode === 0) return { kind: 'completed', ...told };
  return { kind: 'failed', code: 'wasm.exited', message: `It ended with exit code ${exitCode}.`, ...told };
}

function ranOf(
  outcome: Outcome,
  { program, module, executor, startedAt, endedAt, attempts, emitted }: WasmCallFacts,
): ExecutionFacts {
  const { host } = outcome;
  return {
    executor,
    enforcement: host === undefined ? 'none' : enforcementOf(host),
    sandbox: {
      ...(host === undefined ? {} : measuredSandbox(host)),
      module: module.name,
      module_sha256: module.sha256,
      manifest_sha256: module.manifestSha256,
      abi: program.abi,
      host_functions: [...program.functions],
      instance_reused: outcome.reused,
      asked: outcome.asked.map(({ function: name, status }) => `${name}=${status}`).slice(0, MOST_ASKED),
    },
    resources: {
      wall_ms: Math.max(0, endedAt - startedAt),
      fuel_used: outcome.fuelUsed,
      host_calls: outcome.hostCalls,
      events: emitted?.count ?? 0,
      memory_bytes: outcome.memoryPages * 65_536,
    },
    ...attestedUse({ attempts }),
    startedAt,
    endedAt,
  };
}

/** The rest is in the count. */
const MOST_ASKED = 100;
