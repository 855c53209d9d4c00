import type { RunId, SessionId } from '@palyra/primitives';
import type { OperatorNetwork } from '../connections/operator-network.ts';
import type { Caller, Workspace } from '../tool-call/proposed-call.ts';
import type { ToolCallConfig } from '../tool-call-config.ts';
import type { Turns } from './turns.ts';

/** A run while this process owns it. */
export interface OpenRun {
  readonly id: RunId;
  readonly session: SessionId;
  readonly caller: Caller;
  readonly workspace: Workspace;
  readonly config: ToolCallConfig;
  /** Names of the catalogue that the configuration allows. */
  allowedNames(): readonly string[];
  /** What holds for connections; absent: nothing leads out. */
  readonly network?: OperatorNetwork | undefined;
  readonly budget: Budget;
  /** Which calls may run beside which. */
  readonly turns: Turns;
  /** Aborted when the run is cancelled. */
  readonly signal: AbortSignal;
  /** So many of its calls were refused that nobody is asked about it any more. */
  isRefused(): boolean;
}

/**
 * How many calls a run may make. One rule: a call counts when its intent is recorded, nested ones like all others; a
 * refused one does not count, but as many refusals as calls end the run. Waiting for an answer with a key is no refusal.
 */
export interface Budget {
  /** Holds room for a call. Undefined when there is none. */
  reserve(): Reservation | undefined;
  /** A call was refused. */
  refuse(): void;
  used(): number;
  refused(): number;
}

/** Room for one call until one of these is called; what comes after the first says nothing. */
export interface Reservation {
  /** Its intent is recorded. */
  count(): void;
  free(): void;
}

export function createBudget(most: number, before: { readonly used: number; readonly refused: number }): Budget {
  let { used, refused } = before;
  let reserved = 0;
  return {
    reserve() {
      if (used + reserved >= most) return undefined;
      reserved += 1;
      let isSettled = false;
      const settle = (calls: number) => {
        if (isSettled) return;
        isSettled = true;
        reserved -= 1;
        used += calls;
      };
      return { count: () => settle(1), free: () => settle(0) };
    },
    refuse() {
      refused += 1;
    },
    used: () => used,
    refused: () => refused,
  };
}
