/** What was found, never what was wished for: read before the tool's first instruction. */
export interface MeasuredFacts {
  /** Every process in the sandbox at that moment: the tool to be, and bubblewrap's init in Tier C. */
  readonly processes: readonly ProcessFacts[];
  /** SHA-256 of the mount table as the tool sees it; absent in Tier B, where it sees the host's. */
  readonly mountTableSha256: string | undefined;
  /** Interfaces other than `lo`, and routes, that the tool can see; empty in Tier C. */
  readonly network: 'isolated' | 'host';
  /** Hard limits, which the tool cannot raise; one that is absent is unlimited. */
  readonly rlimits: Readonly<Record<string, number>>;
  readonly cgroup: CgroupFacts;
  readonly landlock: { readonly rules: number } | undefined;
  /** `passed`: one socket that listens on the sandbox's loopback is held outside. It is the only way out. */
  readonly listener: 'passed' | 'none';
}

export interface ProcessFacts {
  readonly role: 'tool' | 'init';
  /** As the host sees them: real, effective, saved and file-system ids alike. */
  readonly uid: number;
  readonly gid: number;
  readonly groups: readonly number[];
  /** Held in any set but the bounding one: sixteen hexadecimal digits. */
  readonly capabilities: string;
  readonly noNewPrivileges: boolean;
  /** 2 is a filter. */
  readonly seccomp: number;
  /** Namespaces that are not the host's. */
  readonly namespaces: readonly string[];
}

export interface CgroupFacts {
  readonly driver: 'v2' | 'v1' | 'none';
  readonly memory: 'tree' | 'per_process';
  readonly processes: 'tree' | 'per_user';
  /** `tree`: all processes together have a quota, and their CPU time is counted. */
  readonly cpu: 'tree' | 'per_process';
  /** Settings as read back, by file; counters are not among them. */
  readonly limits: Readonly<Record<string, string>>;
}
