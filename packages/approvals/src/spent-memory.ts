import type { Clock } from '@palyra/primitives';
import type { ApprovalLimits } from './approval-limits.ts';

/**
 * What must not be used any more: answers that were used up or revoked, and questions that ended without a yes. By the id
 * of the approval, which is what people sign: rows have other ids, and whoever can write them can change those, too.
 */
export interface SpentMemory {
  /** For what this process did, or read in the rows. */
  add(approvalId: string): void;
  /** Also asks the signed record, for what happened before this process began. */
  has(approvalId: string): Promise<boolean>;
  knows(approvalId: string): boolean;
}

export interface SpentMemoryDeps {
  readonly isRecorded: (approvalId: string) => Promise<boolean>;
  readonly clock: Clock;
  readonly keepMs: number;
}

/** SECURITY: T-05 — by time and not by number, or a flood would push out what matters. */
export function createSpentMemory({ isRecorded, clock, keepMs }: SpentMemoryDeps): SpentMemory {
  // In the order of being added, so the oldest come first.
  const known = new Map<string, number>();
  const forgetOld = () => {
    const now = clock.now();
    for (const [id, until] of known) {
      if (until > now) return;
      known.delete(id);
    }
  };
  return {
    add(id) {
      forgetOld();
      if (!known.has(id)) known.set(id, clock.now() + keepMs);
    },
    knows: (id) => known.has(id),
    has: async (id) => known.has(id) || isRecorded(id),
  };
}

/** As long as anything that was signed can hold: after that, the statement itself says no. */
export function keepSpentMs(limits: ApprovalLimits): number {
  const { questionMs, onceMs, sessionMs, timeboxMs, clockSkewMs } = limits;
  return questionMs + Math.max(onceMs, sessionMs, timeboxMs) + 2 * clockSkewMs;
}
