import type { ExpectedFacts } from './facts/expected-facts.ts';

/**
 * Exactly what the launcher is told: printable, comparable, and made by a pure function. Numbers of file descriptors in
 * `wrapper` are those of `data`.
 */
export interface LaunchPlan {
  /** `sandbox_tier_b`, `sandbox_tier_c_linux_bubblewrap`. */
  readonly executor: string;
  /** What the plan is a wall for. Tier B says `host`: its tools see the host's files and network as their user does. */
  readonly enforcement: Enforcement;
  /** The wrapper that builds the sandbox, or undefined where the launcher itself does everything (Tier B). */
  readonly wrapper: readonly string[] | undefined;
  readonly tool: {
    /** As seen by the tool. */
    readonly path: string;
    readonly argv: readonly string[];
    readonly environment: readonly string[];
    readonly cwd: string;
    readonly terminal: { readonly rows: number; readonly columns: number } | undefined;
  };
  /** A real uid and gid of the host, never 0; undefined where the launcher is no root and has only its own. */
  readonly identity: ToolIdentity | undefined;
  /** Put at /run/palyra/<name> in a mount namespace of the job's own, before privileges are dropped. */
  readonly staged: readonly StagedMount[];
  readonly rlimits: readonly Rlimit[];
  /** Paths in the sandbox whose room is limited; whether one is full is part of the outcome. */
  readonly tmpfs: readonly string[];
  readonly cgroups: readonly CgroupPlan[];
  /** Bytes that the wrapper reads from a descriptor: the seccomp program, small files. */
  readonly data: readonly DataFile[];
  /** The seccomp program of a tool without a wrapper; a wrapper is given its own as data. */
  readonly filter: Uint8Array | undefined;
  readonly landlock: LandlockPlan | undefined;
  /** Whether the sandbox opens the listener of a way out, and hands it over. */
  readonly listener: boolean;
  readonly watch: {
    readonly wallMs: number;
    readonly idleMs: number;
    readonly outputBytes: number;
    /** Of all processes together, by the cgroup; undefined where there is none. */
    readonly treeCpuMs: number | undefined;
    /** A file `cpu.stat`, or one that counts nanoseconds. */
    readonly cpuCounter: string | undefined;
  };
  readonly expected: ExpectedFacts;
}

export interface Enforcement {
  readonly fileSystem: 'isolated' | 'host';
  /** `open`: a network of its own, and a way out of it through which everything may go. */
  readonly network: 'isolated' | 'open' | 'host';
}

export interface ToolIdentity {
  readonly uid: number;
  readonly gid: number;
}

/** Where staged mounts are found, by who runs in the job's own mount namespace. */
export const STAGING = '/run/palyra';

export interface StagedMount {
  /** One path segment. */
  readonly name: string;
  readonly source: string;
  readonly readOnly: boolean;
  /** Shows what belongs to root as belonging to the tool's identity. */
  readonly idmap: boolean;
}

export type RlimitName = 'cpu' | 'as' | 'nofile' | 'fsize' | 'nproc' | 'core' | 'data';

export interface Rlimit {
  readonly name: RlimitName;
  readonly soft: number;
  readonly hard: number;
}

/** One directory for this job in one hierarchy; the tool is the first process in it. */
export interface CgroupPlan {
  /** Absolute, below /sys/fs/cgroup; its last segment begins with `palyra-`. */
  readonly directory: string;
  readonly settings: readonly { readonly file: string; readonly value: string }[];
  /** Files that are read back before the tool starts and after it ended. */
  readonly counters: readonly string[];
}

export interface DataFile {
  readonly fd: number;
  readonly bytes: Uint8Array;
}

export interface LandlockPlan {
  /** Everything else is out of reach. */
  readonly rules: readonly { readonly path: string; readonly access: 'read' | 'write' }[];
  /** Changes when the files behind the rules may be others: the launcher keeps rule sets, and they hold files, not names. */
  readonly stamp: string;
}
