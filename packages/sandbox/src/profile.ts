/** What a command may do: the SandboxProcessRunnerPolicy of one call. A profile is data and says everything. */
export interface SandboxProfile {
  /** B: limits, not a wall. C: a wall. */
  readonly tier: 'B' | 'C';
  readonly workspace: { readonly root: string; readonly access: 'read-write' | 'read-only' };
  /** Absolute paths outside the workspace, as the operator wrote them. */
  readonly readOnlyPaths: readonly string[];
  readonly writablePaths: readonly string[];
  /** Hidden although what they lie in is visible. */
  readonly maskedPaths: readonly string[];
  /** Names as found on the tool's PATH, or absolute paths. */
  readonly executables: 'any' | readonly string[];
  readonly interpreters: 'allowed' | 'refused';
  /** `none` is the mode of the seeds: no restriction. */
  readonly egress: { readonly mode: 'none' | 'preflight' | 'strict'; readonly hosts: readonly string[] };
  /** Tools found on the operator's PATH, read-only. */
  readonly toolchains: 'operator' | 'none';
  readonly unixSockets: 'allowed' | 'refused';
  readonly limits: Limits;
  /** Limits that must hold for all processes together; without a cgroup to hold them the command is refused. */
  readonly mustHold: readonly TreeLimit[];
  /** Names of variables that are taken over from the caller; all others are ours. */
  readonly environment: readonly string[];
  /** Whose command it is: what needs an honest caller is refused to an agent. */
  readonly startedFor: 'agent' | 'operator';
  /** Absolute paths that the operator allowed to be written although they are protected, with what is below them. */
  readonly protection?: { readonly lifted: readonly string[] };
  /** What the private home of a box holds; nothing unless told. Tier C only. */
  readonly home?: PrivateHome;
}

/** Paths are below a home, without a leading slash: the operator's, and the same below the box's. */
export interface PrivateHome {
  /** Files and directories of the operator's. What is not there, or leads through a link, is left out. */
  readonly writable: readonly string[];
  readonly readOnly: readonly string[];
  /** Files: as they are when the box is made. What is written to them in it is gone with it. */
  readonly copied?: readonly string[];
  /** Of ours, and nobody's to change in the box; below the home as well. */
  readonly files: readonly { readonly path: string; readonly text: string }[];
  /** The same for the box's own /etc: programs look there for what an administrator has settled. Absolute. */
  readonly settings?: readonly { readonly path: string; readonly text: string }[];
}

export type TreeLimit = 'memory' | 'processes' | 'cpu';

export interface Limits {
  readonly wallMs: number;
  /** Without output for so long. */
  readonly idleMs: number;
  readonly cpuMs: number;
  /** Of all processes together where there is a cgroup, else of each. */
  readonly memoryBytes: number;
  readonly processes: number;
  readonly openFiles: number;
  readonly fileBytes: number;
  /** Of each tmpfs: the home, /tmp and /dev/shm. */
  readonly tmpfsBytes: number;
  /** Of stdout and stderr together. */
  readonly outputBytes: number;
  /** How much of the machine's CPUs at once, in thousandths of one; only where there is a cgroup. */
  readonly cpuMilli: number;
}

const MIB = 1024 * 1024;

/** Generous: an ordinary build must not hit them, a runaway must. */
export const DEFAULT_LIMITS: Limits = {
  wallMs: 10 * 60_000,
  idleMs: 10 * 60_000,
  cpuMs: 10 * 60_000,
  memoryBytes: 4096 * MIB,
  processes: 512,
  openFiles: 4096,
  fileBytes: 4096 * MIB,
  tmpfsBytes: 1024 * MIB,
  outputBytes: 16 * MIB,
  cpuMilli: 64_000,
};
