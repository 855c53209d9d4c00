import type { Permit } from '@palyra/approvals';
import type { Body } from '@palyra/journal';
import type { Decision, PolicySet } from '@palyra/policy';
import type { CallId } from '@palyra/primitives';
import type { Tool, ToolPlan } from '../catalog/tool.ts';
import type { OpenRun, Reservation } from '../runs/open-run.ts';
import type { Turns } from '../runs/turns.ts';
import type { ProposedCall } from './proposed-call.ts';

/** A call that has its id and its place in the run; nothing is known of it but what was written. */
export interface OpenedCall {
  readonly id: CallId;
  readonly run: OpenRun;
  readonly proposed: ProposedCall;
  /** The name of the catalogue, or `unknown`: the chain holds no text that a caller chose. */
  readonly toolName: string;
  /** Only its beginning while it may be refused; `CallLedger.keepInput` has all of it. */
  readonly input: Body;
  readonly signal: AbortSignal;
  readonly openedAt: number;
  /** What it waits for its turn in: the run's, or that of the call which makes it. */
  readonly turns: Turns;
  readonly nestedIn: NestedIn;
}

/** `nobody`: an agent's own call. `unknown`: it names a parent that is not under way in this run. */
export type NestedIn = 'nobody' | 'unknown' | 'shared' | 'alone';

/** The tool is known, the input is sound, there is room in the budget, and it is known what would be done. */
export interface AdmittedCall extends OpenedCall {
  readonly tool: Tool;
  readonly plan: ToolPlan;
  readonly reservation: Reservation;
}

/** Policy allows it, or would if a human approved. */
export interface DecidedCall extends AdmittedCall {
  readonly decision: Decision;
  /** The policies that decided. */
  readonly under: Pick<PolicySet, 'digest' | 'preset'>;
  readonly decidedAt: number;
  /** A human's word, verified; used up when the intent is recorded. */
  readonly permit?: Permit;
  /** Somebody looked at these bytes: no others may run. */
  readonly needsBoundBytes: boolean;
}
