import type { PlacedFiles } from '../bind/placed-files.ts';
import type { PlannedCgroupFacts } from '../cgroup/plan-cgroups.ts';
import type { CgroupPlan, LandlockPlan, LaunchPlan, RlimitName, ToolIdentity } from '../launch-plan.ts';
import type { ProtectionMount } from '../protect/plan-protection.ts';
import type { HostMount } from './host-mounts.ts';
import type { TrustedAuthority } from './trusted-authority.ts';

/** What a plan needs to know of the host: looked up beforehand, so that planning is pure. */
export interface HostSurvey {
  readonly arch: 'x86_64' | 'arm64';
  /** The launcher's own uid is the tool's when undefined. */
  readonly identity: ToolIdentity | undefined;
  /** Whether root's files in the workspace must look like the tool's. */
  readonly idmapWorkspace: boolean;
  readonly workspace: {
    /** Resolved. */
    readonly root: string;
    /** Of a worktree: where the repository really is. */
    readonly gitDirectories: readonly string[];
  };
  /** What the profile names besides, resolved. */
  readonly paths: { readonly readOnly: readonly string[]; readonly writable: readonly string[] };
  /** /usr, and /bin, /lib and so on as this distribution has them. */
  readonly systemRoots: readonly SystemRoot[];
  /** Whether this kernel has the file at all. */
  readonly hasSysrq: boolean;
  /** What ordinary programs need of /etc. */
  readonly systemFiles: readonly SystemFile[];
  readonly toolchains: {
    readonly path: string;
    readonly readOnly: readonly string[];
    readonly environment: Readonly<Record<string, string>>;
  };
  /** Those that exist. */
  readonly masked: readonly MaskedPath[];
  /** Paths that the tool's user could not reach by itself; only root can hand them over. */
  readonly outOfReach: ReadonlySet<string>;
  /** Mounted on the host in what is bound; absent: nothing. */
  readonly hostMounts?: readonly HostMount[];
  /** Device and inode of what is bound, so that something else in its place is noticed. */
  readonly bound: readonly { readonly path: string; readonly identity: string }[];
  /** Absolute, as the tool sees it. */
  readonly program: string;
  /** Of a command that was bound to its bytes. */
  readonly placed?: PlacedFiles;
  /** Whoever runs the command has a gate for it; Tier C only. */
  readonly wayOut?: true;
  /** Whose certificates count in this box, beside those that count everywhere. */
  readonly trusted?: TrustedAuthority;
  readonly cgroups: {
    readonly plans: readonly CgroupPlan[];
    readonly facts: PlannedCgroupFacts;
    readonly cpuCounter: LaunchPlan['watch']['cpuCounter'];
  };
  /** Tier B only. */
  readonly landlock: LandlockPlan | undefined;
  /** Protected paths and directories above them, in the order of mounting; Tier C only. */
  readonly protection?: readonly ProtectionMount[];
  /** What the profile puts into the box's home, of what is there. */
  readonly home?: HomeSurvey;
  /** Processes and threads on the whole machine now: what a per-user limit must leave room for. */
  readonly tasksOnHost: number;
  /** Limits that the launcher is under itself and, without root, cannot raise. */
  readonly ceilings: Readonly<Partial<Record<RlimitName, number>>>;
}

/** Below the box's home, `path`; on the host, `source`. */
export interface HomeSurvey {
  readonly shown: readonly { readonly path: string; readonly source: string; readonly writable: boolean }[];
  readonly files: readonly { readonly path: string; readonly bytes: Uint8Array }[];
  readonly copied: readonly { readonly path: string; readonly bytes: Uint8Array }[];
  /** Absolute. */
  readonly settings: readonly { readonly path: string; readonly bytes: Uint8Array }[];
}

export type SystemRoot =
  | { readonly kind: 'directory'; readonly path: string }
  | { readonly kind: 'link'; readonly path: string; readonly target: string };

export type SystemFile =
  | { readonly kind: 'mount'; readonly path: string }
  /** Small: a copy costs less than a mount. */
  | { readonly kind: 'copy'; readonly path: string; readonly bytes: Uint8Array };

export interface MaskedPath {
  readonly path: string;
  readonly kind: 'file' | 'directory';
}
