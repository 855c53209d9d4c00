import { ALL_BITS, type ArgumentTest, type CallRule } from './call-rule.ts';
import { AF_UNIX, NEIGHBOURS, NO_CONNECTABLE_PAIR, NO_UNIX_SOCKETS, SOCKET_TYPE } from './neighbour-rules.ts';

export interface CallRuleOptions {
  readonly tier: 'B' | 'C';
  readonly unixSockets: 'allowed' | 'refused';
}

/**
 * All that is refused by what it does. Deliberately allowed: seccomp and landlock (a further filter only takes away, and an
 * errno of ours outranks its user notification), prctl, the NUMA calls (runtimes use them on themselves), statmount and
 * listmount (they only look), uprobe and uretprobe (entered by the kernel's own trampolines), execveat and memfd_create
 * (a tool may run what it wrote anyway).
 */
export function callRules({ tier, unixSockets }: CallRuleOptions): readonly CallRule[] {
  if (tier === 'B') return [...TIER_B, ...(unixSockets === 'refused' ? [NO_UNIX_SOCKETS, NO_CONNECTABLE_PAIR] : [])];
  return [
    ...IN_MEMORY,
    ...OTHER_PROCESSES,
    ...NAMESPACES,
    ...MOUNTS,
    ...KEYRINGS,
    ...RINGS,
    ...KERNEL_SURFACE,
    ...MACHINE,
    ...TERMINALS,
    ...LEASES,
    ...TURNS,
    ...socketRules(unixSockets),
    ...SET_ID_FILES,
  ];
}

/** A filter cannot follow pointers. ENOSYS, because callers then fall back to the older call, which is filtered. */
const IN_MEMORY: readonly CallRule[] = [
  // SECURITY: T-18 — its namespace flags lie in memory; glibc, Go and Rust fall back to clone.
  { calls: ['clone3'], when: [], action: 'ENOSYS', why: 'its flags lie in memory, where a filter cannot see them' },
  // SECURITY: T-42 — its mode lies in memory; callers fall back to openat.
  { calls: ['openat2'], when: [], action: 'ENOSYS', why: 'its mode lies in memory, where a filter cannot see it' },
];

const OTHER_PROCESSES: readonly CallRule[] = [
  // SECURITY: T-18, T-43 — one process of the sandbox must not take over another.
  {
    calls: ['ptrace', 'process_vm_readv', 'process_vm_writev', 'process_madvise', 'kcmp', 'pidfd_getfd'],
    when: [],
    action: 'EPERM',
    why: 'reaches into other processes',
  },
  // PER_LINUX, a mere question, PER_LINUX32 (setarch), and ADDR_NO_RANDOMIZE (sanitizers start themselves anew with it).
  {
    calls: ['personality'],
    when: [{ argument: 0, mask: ALL_BITS, is: 'none_of', values: [0, 0xffff_ffff, 0x8, 0x4_0000] }],
    action: 'EPERM',
    why: 'an execution domain that weakens memory protection',
  },
];

/** NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET. To `clone`, NEWTIME (0x80) is part of the exit signal. */
const CLONE_NEW_FLAGS = 0x7e02_0000;

const NAMESPACES: readonly CallRule[] = [
  // SECURITY: T-18 — a user namespace of its own would give the tool every capability over new namespaces.
  { calls: ['unshare', 'setns'], when: [], action: 'EPERM', why: 'enters other namespaces' },
  {
    calls: ['clone'],
    when: [{ argument: 0, mask: CLONE_NEW_FLAGS, is: 'none_of', values: [0] }],
    action: 'EPERM',
    why: 'starts a process in new namespaces',
  },
];

const MOUNTS: readonly CallRule[] = [
  // SECURITY: T-18, T-44 — the mounts of the sandbox are its walls.
  {
    calls: ['mount', 'umount2', 'pivot_root', 'chroot', 'move_mount', 'mount_setattr', 'open_tree', 'open_tree_attr'],
    when: [],
    action: 'EPERM',
    why: 'changes what is mounted',
  },
  {
    calls: ['fsopen', 'fsconfig', 'fsmount', 'fspick', 'quotactl', 'quotactl_fd', 'swapon', 'swapoff'],
    when: [],
    action: 'EPERM',
    why: 'sets up file systems, quotas or swap',
  },
  // SECURITY: T-14 — a handle opens a file past every mount and path.
  {
    calls: ['name_to_handle_at', 'open_by_handle_at', 'lookup_dcookie'],
    when: [],
    action: 'EPERM',
    why: 'opens files by handle instead of by path',
  },
];

const KEYRINGS: readonly CallRule[] = [
  // SECURITY: T-19, T-40 — the session keyring is inherited, through every namespace.
  {
    calls: ['keyctl', 'add_key', 'request_key'],
    when: [],
    action: 'EPERM',
    why: 'the session keyring comes from the host',
  },
];

const RINGS: readonly CallRule[] = [
  // SECURITY: T-18 — io_uring does by ring what this filter refuses by call.
  {
    calls: ['io_uring_setup', 'io_uring_enter', 'io_uring_register'],
    when: [],
    action: 'EPERM',
    why: 'makes calls that no filter sees',
  },
];

const KERNEL_SURFACE: readonly CallRule[] = [
  // SECURITY: T-18 — large parts of the kernel that ordinary programs never need and exploits often do.
  {
    calls: ['bpf', 'perf_event_open', 'userfaultfd', 'fanotify_init', 'memfd_secret', 'modify_ldt', 'nfsservctl'],
    when: [],
    action: 'EPERM',
    why: 'attack surface of the kernel without ordinary use',
  },
];

// SECURITY: T-18, T-42 — the kernel asks for a capability too; a tool that were root after all stops here.
const MACHINE: readonly CallRule[] = [
  {
    calls: ['init_module', 'finit_module', 'delete_module', 'create_module', 'query_module', 'get_kernel_syms'],
    when: [],
    action: 'EPERM',
    why: 'loads kernel modules',
  },
  {
    calls: ['kexec_load', 'kexec_file_load', 'reboot', 'syslog', 'acct', 'vhangup', '_sysctl', 'uselib'],
    when: [],
    action: 'EPERM',
    why: 'administers the kernel',
  },
  {
    calls: ['settimeofday', 'clock_settime', 'clock_adjtime', 'adjtimex', 'sethostname', 'setdomainname'],
    when: [],
    action: 'EPERM',
    why: 'sets clocks or names of the machine',
  },
  { calls: ['iopl', 'ioperm'], when: [], action: 'EPERM', why: 'reaches ports of the hardware' },
];

const [TIOCSTI, TIOCLINUX, TIOCSETD] = [0x5412, 0x541c, 0x5423];

const TERMINALS: readonly CallRule[] = [
  // SECURITY: T-07 — TIOCSTI and TIOCLINUX type into a terminal; TIOCSETD loads line disciplines into the kernel.
  {
    calls: ['ioctl'],
    when: [{ argument: 1, mask: ALL_BITS, is: 'one_of', values: [TIOCSTI, TIOCLINUX, TIOCSETD] }],
    action: 'EPERM',
    why: 'types into a terminal or changes its line discipline',
  },
];

/** F_SETLEASE, and F_SETDELEG of newer kernels, which does the same to directories; F_GETDELEG (+ 15) only asks. */
const [SET_LEASE, SET_DELEGATION] = [1024, 1024 + 16];

const LEASES: readonly CallRule[] = [
  // SECURITY: T-39 — whoever opens the file waits until its holder gives up, 45 seconds: palyrad and the operator's programs too.
  {
    calls: ['fcntl'],
    when: [{ argument: 1, mask: ALL_BITS, is: 'one_of', values: [SET_LEASE, SET_DELEGATION] }],
    action: 'EPERM',
    why: 'lets others wait who open a file',
  },
];

const SCHED_RESET_ON_FORK = 0x4000_0000;

// SECURITY: T-16 — the launcher gives a tool long turns, so that whoever has to end hundreds of them has one before they do.
const TURNS: readonly CallRule[] = [
  { calls: ['sched_setattr'], when: [], action: 'EPERM', why: 'takes turns of another length' },
  {
    calls: ['sched_setscheduler'],
    when: [{ argument: 1, mask: SCHED_RESET_ON_FORK, is: 'none_of', values: [0] }],
    action: 'EPERM',
    why: 'has children take turns of another length',
  },
];

const [AF_INET, AF_INET6, AF_NETLINK] = [2, 10, 16];
const [SOCK_STREAM, SOCK_DGRAM] = [1, 2];
const NETLINK_ROUTE = 0;

function socketRules(unixSockets: 'allowed' | 'refused'): readonly CallRule[] {
  const unix = unixSockets === 'allowed' ? [AF_UNIX] : [];
  return [
    // SECURITY: T-19 — a family that is not named here is unfiltered by any namespace or proxy of ours.
    {
      calls: ['socket'],
      when: [{ argument: 0, mask: ALL_BITS, is: 'none_of', values: [AF_INET, AF_INET6, AF_NETLINK, ...unix] }],
      action: 'EAFNOSUPPORT',
      why: 'an address family that tools do not need',
    },
    // getaddrinfo, getifaddrs, Node's os.networkInterfaces and Go's net ask NETLINK_ROUTE, which sees only this namespace.
    {
      calls: ['socket'],
      when: [
        { argument: 0, mask: ALL_BITS, is: 'one_of', values: [AF_NETLINK] },
        { argument: 2, mask: ALL_BITS, is: 'none_of', values: [NETLINK_ROUTE] },
      ],
      action: 'EAFNOSUPPORT',
      why: 'a netlink protocol other than that of routes',
    },
    // SECURITY: T-18 — SOCK_RAW forges packets, and the kernel turns AF_INET with SOCK_PACKET into AF_PACKET.
    {
      calls: ['socket'],
      when: [
        { argument: 0, mask: ALL_BITS, is: 'one_of', values: [AF_INET, AF_INET6] },
        { argument: 1, mask: SOCKET_TYPE, is: 'none_of', values: [SOCK_STREAM, SOCK_DGRAM] },
      ],
      action: 'EPERM',
      why: 'a socket type other than streams and datagrams',
    },
    // Always allowed for AF_UNIX: libuv makes the pipes of child processes with it.
    {
      calls: ['socketpair'],
      when: [{ argument: 0, mask: ALL_BITS, is: 'none_of', values: [AF_UNIX] }],
      action: 'EAFNOSUPPORT',
      why: 'pairs are of Unix sockets',
    },
    ...(unixSockets === 'refused' ? [NO_CONNECTABLE_PAIR] : []),
  ];
}

/** S_ISUID | S_ISGID. `mkdir` drops them by itself. */
const SET_ID_BITS = 0o6000;
/** O_CREAT | __O_TMPFILE, the same on both architectures; without them the mode is not looked at and may be anything. */
const CREATES = 0o20000100;

// SECURITY: T-42 — through an idmapped mount the file's owner on disk is root: a set-id bit would outlive the sandbox.
const SET_ID_FILES: readonly CallRule[] = [
  setIdRule(['chmod', 'fchmod', 'creat', 'mknod'], { mode: 1 }),
  setIdRule(['fchmodat', 'fchmodat2', 'mknodat'], { mode: 2 }),
  setIdRule(['open'], { flags: 1, mode: 2 }),
  setIdRule(['openat'], { flags: 2, mode: 3 }),
];

function setIdRule(calls: readonly string[], { flags, mode }: { flags?: 1 | 2; mode: 1 | 2 | 3 }): CallRule {
  const creates: readonly ArgumentTest[] =
    flags === undefined ? [] : [{ argument: flags, mask: CREATES, is: 'none_of', values: [0] }];
  return {
    calls,
    when: [...creates, { argument: mode, mask: SET_ID_BITS, is: 'none_of', values: [0] }],
    action: 'EPERM',
    why: 'leaves a setuid or setgid file behind',
  };
}

/**
 * Tier B has no wall, and so no use for most of the above. What is refused there would outlive the tool or reach past
 * Landlock; namespaces, because a tool that is root in one of its own could give files capabilities that hold outside.
 */
const TIER_B: readonly CallRule[] = [
  ...IN_MEMORY,
  ...NAMESPACES,
  ...KEYRINGS,
  ...RINGS,
  ...TERMINALS,
  ...LEASES,
  ...TURNS,
  ...SET_ID_FILES,
  ...NEIGHBOURS,
];
