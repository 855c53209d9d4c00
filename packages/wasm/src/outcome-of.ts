import type { GuestEnd } from './host/messages.ts';
import type { LaneEnd } from './host-lanes.ts';
import type { HostSession } from './host-session.ts';
import { failedBefore, WASM_FAILURES, type WasmFailureKind, type WasmOutcome, type WasmSpent } from './wasm-outcome.ts';

export interface EndedCall<About> {
  readonly fuel: number;
  /** Why its host was ended, if it was ended for it. */
  readonly why: 'late' | 'cancelled' | undefined;
  readonly spent: WasmSpent;
  readonly session: Pick<HostSession<About>, 'about'> | undefined;
}

/** What became of a call, as whoever made it is told. */
export function outcomeOf<About>(how: LaneEnd, ended: EndedCall<About>): WasmOutcome<About> {
  const { why, spent, session, fuel } = ended;
  const host = session?.about;
  switch (how.kind) {
    case 'result':
      return ofResult(how.result, ended);
    case 'lost': {
      if (why === 'cancelled') return { kind: 'cancelled', host, ...spent, fuelUsed: fuel };
      const failure = why === 'late' ? 'timed_out' : how.end.reason === 'memory' ? 'memory_exceeded' : 'host_error';
      const message = why === 'late' ? WASM_FAILURES.timed_out : how.end.message;
      return { kind: 'failed', failure, message, fix: undefined, host, ...spent, fuelUsed: fuel };
    }
    case 'slow_start':
      return failedBefore('timed_out', 'Starting its host and compiling it took longer than a call may.');
    case 'refused':
      return failedBefore(how.end as WasmFailureKind, how.message);
    case 'unavailable':
      return failedBefore('host_error', how.message, how.fix);
    case 'crowded':
      return failedBefore('host_error', 'Too many calls wait for a WASM host.', 'Try again when some have ended.');
    case 'closed':
      if (why === 'cancelled') return { kind: 'cancelled', host, ...spent };
      return failedBefore('host_error', 'The WASM runtime is being closed.');
  }
}

function ofResult<About>(
  result: Extract<LaneEnd, { kind: 'result' }>['result'],
  { why, spent, session }: EndedCall<About>,
): WasmOutcome<About> {
  const host = session?.about as About;
  const all = {
    ...spent,
    fuelUsed: Number(result.fuelUsed),
    // SECURITY: T-56 — what palyrad answered counts, whatever the host says.
    hostCalls: Math.max(result.hostCalls, spent.asked.length),
    memoryPages: result.memoryPages,
    reused: result.reused,
    log: Uint8Array.from(result.log),
  };
  if (why === 'cancelled') return { kind: 'cancelled', host, ...all };
  if (result.end === 'completed') {
    return { kind: 'completed', output: Uint8Array.from(result.output), exitCode: result.exitCode, host, ...all };
  }
  const { end, message } = result;
  return {
    kind: 'failed',
    failure: end satisfies Exclude<GuestEnd, 'completed'>,
    message,
    fix: FIXES[end],
    host,
    ...all,
  };
}

const FIXES: Readonly<Partial<Record<WasmFailureKind, string>>> = {
  fuel_exhausted: 'Give the module more fuel, or less to do.',
  memory_exceeded: 'Give the module more memory, or less to do.',
  depth_exceeded: 'Let the module recurse less.',
  output_too_large: 'Raise the limit of outputs, or let the module put out less.',
};
