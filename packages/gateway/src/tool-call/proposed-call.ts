import type { Actor } from '@palyra/journal';
import type { PolicyRequest } from '@palyra/policy';
import type { CallId, RunId } from '@palyra/primitives';
import type { ClientReports } from '../runners/delegated/client-report.ts';
import type { AttachedSource } from '../tools/attached-input.ts';

/** Who proposes: from the credential and the server's registry, never from what the caller wrote. */
export interface Caller {
  readonly principal: PolicyRequest['principal'];
  readonly actor: Actor;
  readonly groups: readonly string[];
  /** The credential itself, which can never approve what it proposed. */
  readonly credential: string;
  readonly deviceId?: string;
  readonly channel?: string;
  readonly coverage: PolicyRequest['context']['coverage'];
  readonly separation: PolicyRequest['context']['separation'];
  /** It asks from inside a box of ours: the listener that it came in by is its credential. */
  readonly isBoxed?: true;
}

/** One call as an agent proposes it. */
export interface ProposedCall {
  readonly run: RunId;
  readonly tool: string;
  /** JSON text, as it came. */
  readonly input: string;
  /** The same key in the same run is the same call: it is answered, and never run again. */
  readonly key?: string;
  /** The key was made for this very call, by the server: nobody has used it before. */
  readonly isKeyNew?: true;
  /** The running call that makes this one: a skill's, or an upstream server's. From the server, never from an agent. */
  readonly parent?: CallId;
  /** Why the agent says it wants this. For people; decides nothing. */
  readonly agentSays?: string;
  /** What the caller has read that it should not trust. */
  readonly taints?: readonly string[];
  readonly signal?: AbortSignal;
  /**
   * Where its result will be told; kept with it, so that it is told under the same number after a restart. `before`: so many
   * events come from now on that are told before it.
   */
  tellAt?(before: number): ToldPlace;
  onEvent?(event: CallEvent): void;
  /** For whoever waits in this process for what runs: it does, and nobody is told so before its end is on record. */
  onBegun?(): void;
  onOutput?(stream: 'stdout' | 'stderr', bytes: Uint8Array): void | Promise<void>;
  /** What comes while it runs: asked for when it does, and let go when it is over. One that throws ends the call. */
  readonly attached?: AttachedSource;
  /** Permitted, it waits here for whoever was told so to come for it: true once, when they have. */
  collected?(signal: AbortSignal): Promise<boolean>;
  /** From an agent's hook: why the agent's user does not want it, by rules of their own. On record like any other refusal. */
  readonly forbidden?: string;
  /** From an agent's hook, for an agent's own tool: what the agent says became of it. */
  readonly report?: ClientReports;
}

/** A place in the order of what is told of a run. */
export interface ToldPlace {
  readonly number: number;
  /** Nothing will be told there. */
  release(): void;
}

/** In the order of the life of a call. */
export type CallEvent =
  | { readonly kind: 'accepted'; readonly callId: CallId }
  /** Instead of all others: it was made before, and its result was told at this place; null: at none that was kept. */
  | { readonly kind: 'repeated'; readonly told: number | null }
  | {
      /** The first one; what is decided after an approval is in the result. */
      readonly kind: 'decided';
      readonly decision: 'allow' | 'ask' | 'deny';
      readonly policyIds: readonly string[];
      readonly reasonCode: string;
      readonly reason: string;
      readonly fix?: string;
    }
  | { readonly kind: 'approval_requested'; readonly approvalId: string; readonly expiresAt: number }
  | { readonly kind: 'approval_decided'; readonly approvalId: string; readonly outcome: string }
  /** Only of a call that waits to be collected: nothing of it has begun. */
  | { readonly kind: 'permitted' }
  | { readonly kind: 'started' };

/** One of the server's registry. */
export interface Workspace {
  readonly id: string;
  /** Its real path. */
  readonly root: string;
}
