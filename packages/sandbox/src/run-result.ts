import type { Binding } from './bind/binding.ts';
import type { MeasuredFacts } from './facts/measured-facts.ts';
import type { Enforcement } from './launch-plan.ts';
import type { ProtectedChange } from './protect/put-back.ts';
import type { SandboxErrorCode } from './sandbox-error.ts';

/** What became of one command. `refused` and `failed_to_start`: nothing of it ever ran. */
export type RunResult =
  | (Ran & { readonly kind: 'completed'; readonly exitCode: number })
  /** By a signal that was not ours. */
  | (Ran & { readonly kind: 'signalled'; readonly signal: string })
  | (Ran & { readonly kind: 'timed_out'; readonly limit: 'wall' | 'idle' })
  | (Ran & { readonly kind: 'cancelled' })
  /** The launcher died while it ran, and took it along: what it did until then is done, how far it came is not known. */
  | (Ran & { readonly kind: 'lost' })
  | (Ran & { readonly kind: 'quota_exceeded'; readonly quota: Quota })
  | Refusal
  | (Omit<Refusal, 'kind'> & { readonly kind: 'failed_to_start' });

export type Quota = 'cpu' | 'memory' | 'processes' | 'output' | 'file_size' | 'disk';

/** Cancelled before anything ran, it has no facts. */
export interface Ran {
  readonly executor: string;
  readonly enforcement: Enforcement;
  readonly output: CapturedOutput;
  readonly usage: ResourceUse;
  readonly facts: MeasuredFacts | undefined;
  /** What was bound and what was not, as it ran; absent when nothing was asked to be. */
  readonly bound?: Binding;
  /** Whether the sandbox was started, and its facts measured, before the command was there. */
  readonly pooled: boolean;
  /** Protected paths that are not what they were; they were put back where that was possible. */
  readonly protectedChanged: readonly ProtectedChange[];
  readonly startedAt: number;
  readonly endedAt: number;
}

export interface Refusal {
  readonly kind: 'refused';
  readonly code: SandboxErrorCode;
  readonly message: string;
  readonly fix: string | undefined;
}

export interface CapturedOutput {
  readonly stdout: Uint8Array;
  readonly stderr: Uint8Array;
}

/** Of all processes of the command together. */
export interface ResourceUse {
  readonly wallMs: number;
  readonly userMs: number;
  readonly systemMs: number;
  /** The largest resident set of a single process, or of all where a cgroup measured it. */
  readonly maxRssBytes: number;
  readonly outputBytes: number;
}
