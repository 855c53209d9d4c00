/** What the launcher read, unparsed: it is small and runs as root, so reading text is left to us. */
export interface RawFacts {
  /** From inside, by the process that becomes the tool. */
  readonly inside: InsideTexts;
  /** From the host's /proc: the tool to be first, then bubblewrap's init if there is one. */
  readonly outside: readonly OutsideTexts[];
  /** The launcher's own namespaces: `{ user: 'user:[4026531837]', … }`. */
  readonly hostNamespaces: Readonly<Record<string, string>>;
  /** Settings and counters as read back, by absolute path. */
  readonly cgroupFiles: Readonly<Record<string, string>>;
  /** How many rules the Landlock ruleset has that the process is under; 0 without one. */
  readonly landlockRules: number;
  /** Address and network namespace of the listener that was handed over, `127.0.0.1:3128 net:[4026532001]`; undefined: none was. */
  readonly listener: string | undefined;
}

export interface InsideTexts {
  /** /proc/self/status, limits, mountinfo, net/route, net/ipv6_route, net/dev. */
  readonly status: string;
  readonly limits: string;
  readonly mountinfo: string;
  readonly route: string;
  readonly ipv6Route: string;
  readonly netDev: string;
  readonly namespaces: Readonly<Record<string, string>>;
  /** Device and inode of what is at these paths. */
  readonly bound: Readonly<Record<string, string>>;
}

export interface OutsideTexts {
  readonly pid: number;
  /** /proc/PID/status, limits, cgroup. */
  readonly status: string;
  readonly limits: string;
  readonly cgroup: string;
  readonly namespaces: Readonly<Record<string, string>>;
}
