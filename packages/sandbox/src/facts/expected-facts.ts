/** What the measured facts must show; anything else and the tool does not start. */
export interface ExpectedFacts {
  /** `undefined`: the launcher's own uid, which it reports. */
  readonly identity: { readonly uid: number; readonly gid: number } | undefined;
  /** Supplementary groups are gone: only a root launcher can drop them. */
  readonly noGroups: boolean;
  /** Namespaces that must not be the host's. */
  readonly namespaces: readonly ('user' | 'mnt' | 'pid' | 'net' | 'ipc' | 'uts' | 'cgroup')[];
  readonly seccomp: boolean;
  readonly noCapabilities: boolean;
  readonly isolatedNetwork: boolean;
  readonly rlimits: readonly { readonly name: string; readonly soft: number; readonly hard: number }[];
  /** Mount points and whether they may be written; undefined where the mount table is the host's. */
  readonly mounts: readonly ExpectedMount[] | undefined;
  readonly cgroups: readonly {
    readonly directory: string;
    readonly settings: readonly { readonly file: string; readonly value: string }[];
  }[];
  readonly landlock: boolean;
  /** Whether a listener of the sandbox's own network is with the launcher, to be passed to a gate. */
  readonly listener: boolean;
  /** What must be at these paths, by device and inode as `12 345`. */
  readonly bound: readonly { readonly path: string; readonly identity: string }[];
}

export interface ExpectedMount {
  readonly at: string;
  readonly writable: boolean;
  /** Of a tmpfs: how much it may hold. */
  readonly sizeBytes?: number;
  /** Another mount point, of which this one shows a part. */
  readonly within?: string;
}
