/**
 * SECURITY: T-15 — how much one scan looks at is bounded, or a tool could exhaust the daemon with names alone. What is
 * beyond it is told, and of what was not there before, taken away unread.
 */
export interface ScanLimits {
  readonly directories: number;
  /** Of a plan, which is made at once, while everybody waits. */
  readonly directoriesOfPlan: number;
  readonly entriesAtOnePath: number;
  readonly entries: number;
  readonly bytes: number;
}

export const SCAN_LIMITS: ScanLimits = {
  directories: 100_000,
  directoriesOfPlan: 1000,
  entriesAtOnePath: 4096,
  entries: 20_000,
  bytes: 32 * 1024 * 1024,
};
