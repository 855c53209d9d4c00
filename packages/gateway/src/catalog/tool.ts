import type { BoundBytes, StartedAction } from '@palyra/approvals';
import type { ToolAttestation } from '@palyra/journal';
import type { CallFacts } from '@palyra/policy';
import type { JsonObject, JsonValue, Sha256Hex } from '@palyra/primitives';
import type { DecideConnection } from '../connections/decide-connection.ts';
import type { ClientReports } from '../runners/delegated/client-report.ts';
import type { PermittedCall } from '../tool-call/permitted-call.ts';
import type { Caller } from '../tool-call/proposed-call.ts';
import type { AttachedSource } from '../tools/attached-input.ts';

export type Capability = CallFacts['capabilities'][number];

/** What agents, operators and policies know of a tool. */
export interface ToolMetadata {
  readonly name: string;
  readonly version: string;
  /** For agents: what it does, in a sentence or two. */
  readonly description: string;
  /** JSON Schema of its input, with `additionalProperties: false`. */
  readonly inputSchema: JsonObject;
  readonly capabilities: readonly Capability[];
  /** Whether it can do what a human may want to be asked about. */
  readonly isSensitive: boolean;
  readonly tier: CallFacts['enforced']['tier'];
  /** May run beside other calls of the same run; else one waits for the other. */
  readonly isParallel: boolean;
  /** Not in the list that agents are given. */
  readonly isHidden: boolean;
}

/** Where a call happens: all of it from the credential and the server's registry. */
export interface CallPlace {
  readonly runId: string;
  readonly callId: string;
  /** The real path of a registered workspace. */
  readonly workspace: string;
  /** How long the call may take. */
  readonly timeoutMs: number;
  /** How much of the agent passes through here; nothing is claimed of one where that is not said. */
  readonly coverage?: Caller['coverage'];
  /** Who asks is in a box itself. */
  readonly isBoxed?: true;
}

/** One tool of the catalogue. */
export interface Tool {
  readonly metadata: ToolMetadata;
  /** An agent's own tool: the agent does it, and reports. It waits for nobody, and nobody waits for it. */
  readonly isDelegated?: true;
  /** A whole session: it lasts as long as whoever began it wants, and other calls of the run are made while it does. */
  readonly isSession?: true;
  /**
   * Soon over, reaches nobody, and changes nothing that anybody could notice: such a call is recorded once, with its end, and
   * is given no way to say anything before that.
   * SECURITY: T-32 — all others are on record before they begin.
   */
  readonly changesNothing?: true;
  /** Checks the input and says exactly what would be done. Nothing runs and nothing changes; does not throw. */
  plan(input: JsonObject, place: CallPlace): Promise<ToolPlan | ToolRefusal>;
  /**
   * Begun while the intent is being recorded, so that `execute` need not wait for it. Nothing of the call is done by it: a
   * box may be made, as those of the pool are, but nothing runs in it, and nobody is reached. Does not throw.
   */
  makeReady?(call: PermittedCall): Readiness | undefined;
  /** Does it. Everything that can happen is a result; what it throws is attested as a fault of the tool. */
  execute(call: PermittedCall, context: ExecuteContext): Promise<ToolResult>;
}

/** Taken over by the `execute` of the same call; what was not is given up when it is disposed of. */
export interface Readiness extends Disposable {}

/** What would be done, for policy, for the human who is asked, and for the tool itself. */
export interface ToolPlan {
  readonly kind: 'planned';
  /** As they will be used: defaults filled in, paths resolved. */
  readonly arguments: JsonValue;
  readonly capabilities: readonly Capability[];
  readonly enforced: CallFacts['enforced'];
  readonly declared: CallFacts['declared'];
  /** Which bytes would be used. Only asked for when a human must look: finding out takes as long as planning. */
  bind(): Promise<BoundCall | ToolRefusal>;
  /** Of everything that the sandbox would be: equal digests are equal boxes. */
  readonly profile: Sha256Hex;
  readonly shown: StartedAction;
  readonly cwd: string | null;
  /** By name and unit: `wall_ms`, `memory_bytes`, … */
  readonly limits: Readonly<Record<string, number>>;
  /** Such as `sandbox_tier_c_linux_bubblewrap`. */
  readonly executor: string;
  /** For the journal: what would be run, printable. */
  readonly printed: JsonValue;
  /** The tool's own; only its `execute` looks at it. */
  readonly prepared: unknown;
}

/** What a human's yes is bound to, and what it cannot be bound to. */
export interface BoundCall {
  readonly kind: 'bound';
  readonly bound: readonly BoundBytes[];
  readonly notBound: readonly string[];
}

export const BOUND_TO_NOTHING: BoundCall = { kind: 'bound', bound: [], notBound: [] };

export interface ToolRefusal {
  readonly kind: 'refused';
  /** Of the gateway, or of the package that refused. */
  readonly code: string;
  readonly message: string;
  readonly fix: string | undefined;
}

export interface ExecuteContext {
  /** Aborted when the call or its run is cancelled, and when its time is over. */
  readonly signal: AbortSignal;
  onOutput?(stream: 'stdout' | 'stderr', bytes: Uint8Array): void | Promise<void>;
  /** May it connect to a host that its plan did not name? Policy decides, and a human where that asks. */
  readonly connect?: DecideConnection;
  /** What the tool made ready for this very call, if it did. */
  readonly ready?: Readiness;
  /** Of a delegated call: what the agent says became of it. */
  readonly report?: ClientReports;
  /** From whoever is attached; a tool that takes none of it never asks for the first. */
  readonly attached?: AttachedSource;
}

export interface ToolOutput {
  readonly stdout?: Uint8Array;
  readonly stderr?: Uint8Array;
  readonly output?: JsonValue;
}

export type ToolResult =
  | (Executed & { readonly kind: 'completed' })
  | (Executed & {
      readonly kind: 'failed' | 'timed_out' | 'cancelled' | 'quota_exceeded';
      readonly code: string;
      readonly message: string;
      readonly fix?: string | undefined;
    })
  /** What it did until then is done; how far it came is not known. */
  | (Partial<Executed> & { readonly kind: 'unknown_outcome'; readonly code: string; readonly message: string })
  /** Nothing of it ran. */
  | ToolRefusal;

export interface Executed extends ToolOutput {
  readonly exitCode?: number;
  readonly signal?: string;
  readonly ran: ExecutionFacts;
}

/** What is attested of an execution, as it was found. */
export interface ExecutionFacts {
  readonly executor: string;
  /** `box`: not the call, but the whole agent that made it was in one. */
  readonly enforcement: 'strict' | 'preflight' | 'none' | 'box';
  readonly sandbox: NonNullable<ToolAttestation['sandbox']>;
  readonly resources: Readonly<Record<string, number>>;
  readonly egress: ToolAttestation['egress'];
  /** Connections that the list has no room for. */
  readonly egressLeftOut?: number;
  /** Each of them, when the list has not: kept beside the chain, and attested by what it is committed to. */
  readonly egressAll?: ToolAttestation['egress'];
  readonly startedAt: number;
  readonly endedAt: number;
}
