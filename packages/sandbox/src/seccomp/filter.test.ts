import { interpretBpf } from '@palyra/testkit';
import { describe, expect, it } from 'vitest';
import { describeSeccomp, type SeccompArch, type SeccompOptions } from './describe-seccomp.ts';
import { seccompProgram } from './filter.ts';
import { ARM64_SYSCALLS } from './syscalls-arm64.ts';
import { X86_64_SYSCALLS } from './syscalls-x86-64.ts';

const TABLES = { x86_64: X86_64_SYSCALLS, arm64: ARM64_SYSCALLS };
const ARCHES: readonly SeccompArch[] = ['x86_64', 'arm64'];
const ALLOW = 'allow';

const VERDICTS = new Map([
  [0x7fff0000, ALLOW],
  [0x80000000, 'kill'],
  [0x00050001, 'EPERM'],
  [0x00050026, 'ENOSYS'],
  [0x00050061, 'EAFNOSUPPORT'],
]);

/** Chosen by an attacker: the kernel drops them from every argument below. */
const HIGH_BITS = 0xdead_beef_0000_0000n;

function verdict(options: SeccompOptions, number: number, args: readonly number[] = []): string | undefined {
  const { auditArch } = TABLES[options.arch];
  const program = seccompProgram(options);
  const [plain, high] = [0n, HIGH_BITS].map((upper) =>
    VERDICTS.get(interpretBpf(program, { auditArch, number, args: args.map((value) => BigInt(value) | upper) })),
  );
  return plain === high ? plain : `${plain}, but ${high} with upper bits`;
}

function verdictOf(options: SeccompOptions, name: string, args: readonly number[] = []): string | undefined {
  const number = TABLES[options.arch].numbers.get(name);
  return number === undefined ? 'no such call' : verdict(options, number, args);
}

/** Written out by hand, apart from the rules: whoever changes one has to change the other. */
const ALWAYS_EPERM =
  'ptrace process_vm_readv process_vm_writev process_madvise kcmp pidfd_getfd unshare setns mount umount2 pivot_root ' +
  'chroot open_tree open_tree_attr move_mount fsopen fsconfig fsmount fspick mount_setattr quotactl quotactl_fd swapon ' +
  'swapoff keyctl add_key request_key bpf perf_event_open io_uring_setup io_uring_enter io_uring_register userfaultfd ' +
  'kexec_load kexec_file_load init_module finit_module delete_module create_module query_module get_kernel_syms reboot ' +
  'syslog acct settimeofday clock_settime clock_adjtime adjtimex iopl ioperm modify_ldt name_to_handle_at ' +
  'open_by_handle_at lookup_dcookie nfsservctl sethostname setdomainname fanotify_init memfd_secret uselib _sysctl vhangup ' +
  'sched_setattr';

describe.each(ARCHES)('seccompProgram for %s', (arch) => {
  const options: SeccompOptions = { arch, unixSockets: 'refused' };
  const table = TABLES[arch];

  it('refuses outright exactly what is listed, and nothing else when all arguments are zero', () => {
    const expected = [...table.numbers.keys()].map((name) => {
      if (ALWAYS_EPERM.split(' ').includes(name)) return `${name} EPERM`;
      if (name === 'clone3' || name === 'openat2') return `${name} ENOSYS`;
      // Family 0 is none that is allowed.
      if (name === 'socket' || name === 'socketpair') return `${name} EAFNOSUPPORT`;
      return `${name} ${ALLOW}`;
    });
    const zeros = [0, 0, 0, 0, 0, 0];
    expect([...table.numbers.keys()].map((name) => `${name} ${verdictOf(options, name, zeros)}`)).toEqual(expected);
  });

  it('ends a process that calls by another architecture', () => {
    const number = table.numbers.get('read') ?? Number.NaN;
    const others = [0x40000003, 0x40000028, arch === 'arm64' ? 0xc000003e : 0xc00000b7, 0];
    const seen = others.map((auditArch) => interpretBpf(seccompProgram(options), { auditArch, number, args: [] }));
    expect(seen).toEqual(others.map(() => 0x80000000));
  });

  it('does not know numbers that nobody reviewed', () => {
    const gaps = table.gaps.flat();
    for (const number of [...gaps, 470, 471, 512, 547, 0x3fffffff, 0x7fffffff, 0x80000000, 0xffffffff]) {
      expect(`${number} ${verdict(options, number)}`).toBe(`${number} ENOSYS`);
    }
    expect(
      gaps.flatMap((number) => [number - 1, number + 1]).filter((number) => verdict(options, number) === ALLOW),
    ).toEqual(arch === 'x86_64' ? [336, 424] : [243, 260, 424]);
  });

  it('refuses clone with any namespace flag, and only those', () => {
    for (const flag of [0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000]) {
      expect(verdictOf(options, 'clone', [flag + 17])).toBe('EPERM');
    }
    // A thread of glibc, vfork, CLONE_IO.
    for (const flags of [0x3d0f00, 0x4111, 17, 0x80000000]) expect(verdictOf(options, 'clone', [flags])).toBe(ALLOW);
  });

  it('refuses to type into terminals', () => {
    for (const command of [0x5412, 0x541c, 0x5423]) expect(verdictOf(options, 'ioctl', [0, command])).toBe('EPERM');
    // TCGETS, TIOCSCTTY, TIOCGWINSZ, FIONBIO.
    for (const command of [0x5401, 0x540e, 0x5413, 0x5421])
      expect(verdictOf(options, 'ioctl', [0, command])).toBe(ALLOW);
  });

  it('allows four personalities', () => {
    for (const allowed of [0, 8, 0x40000, 0xffffffff]) expect(verdictOf(options, 'personality', [allowed])).toBe(ALLOW);
    for (const other of [0x400000, 0x100000, 0x40008, 1])
      expect(verdictOf(options, 'personality', [other])).toBe('EPERM');
  });

  it('allows sockets of the internet and of routes', () => {
    const refused = Array.from({ length: 64 }, (_, family) => family).filter(
      (family) => verdictOf(options, 'socket', [family, 1, 0]) !== ALLOW,
    );
    expect(refused).toEqual(Array.from({ length: 64 }, (_, family) => family).filter((f) => ![2, 10, 16].includes(f)));
    expect(verdictOf(options, 'socket', [16, 0x80003, 0])).toBe(ALLOW);
    expect(verdictOf(options, 'socket', [16, 3, 9])).toBe('EAFNOSUPPORT');
  });

  it.each([2, 10])('refuses raw and packet sockets of family %i, whatever flags hide them', (family) => {
    const types = (flags: number) =>
      Array.from({ length: 16 }, (_, type) => type).filter(
        (type) => verdictOf(options, 'socket', [family, type + flags, 1]) === ALLOW,
      );
    expect([types(0), types(0x80800), types(0xfffffff0)]).toEqual([
      [1, 2],
      [1, 2],
      [1, 2],
    ]);
    expect(verdictOf(options, 'socket', [family, 3, 1])).toBe('EPERM');
  });

  it('keeps pairs of Unix sockets, but no pair that can turn to a named socket unless those are allowed', () => {
    const allowed: SeccompOptions = { arch, unixSockets: 'allowed' };
    expect([1, 2, 3, 5].map((type) => verdictOf(options, 'socketpair', [1, type + 0x80000]))).toEqual([
      ALLOW,
      'EPERM',
      'EPERM',
      ALLOW,
    ]);
    expect([1, 2, 3, 5].map((type) => verdictOf(allowed, 'socketpair', [1, type]))).toEqual([
      ALLOW,
      ALLOW,
      ALLOW,
      ALLOW,
    ]);
    expect(verdictOf(allowed, 'socketpair', [2, 1])).toBe('EAFNOSUPPORT');
    expect([verdictOf(options, 'socket', [1, 1]), verdictOf(allowed, 'socket', [1, 1])]).toEqual([
      'EAFNOSUPPORT',
      ALLOW,
    ]);
  });

  it('refuses modes with a set-id bit where a file would get them', () => {
    const [create, temporary, file] = [0o100, 0o20200000, 0o100000];
    const withMode = (mode: number): readonly (readonly [string, readonly number[]])[] => [
      ['fchmod', [3, mode]],
      ['fchmodat', [0, 0, mode]],
      ['fchmodat2', [0, 0, mode]],
      ['mknodat', [0, 0, mode + file]],
      ['openat', [0, 0, create + 2, mode]],
      ['openat', [0, 0, temporary, mode]],
      ...(arch === 'arm64'
        ? []
        : ([
            ['chmod', [0, mode]],
            ['creat', [0, mode]],
            ['mknod', [0, mode + file]],
            ['open', [0, create, mode]],
            ['open', [0, temporary, mode]],
          ] as const)),
    ];
    const seen = (mode: number) => withMode(mode).map(([name, args]) => `${name} ${verdictOf(options, name, args)}`);
    for (const mode of [0o4755, 0o2755, 0o6000, 0o7777]) {
      expect(seen(mode)).toEqual(withMode(mode).map(([name]) => `${name} EPERM`));
    }
    expect(seen(0o1777)).toEqual(withMode(0).map(([name]) => `${name} ${ALLOW}`));
    expect(verdictOf(options, 'openat', [0, 0, 2, 0o6755])).toBe(ALLOW);
  });

  it('refuses turns of another length, in either tier, and no other use of sched_setscheduler', () => {
    const [other, batch, idle, resetOnFork] = [0, 3, 5, 0x4000_0000];
    const policies = [other, batch, idle, resetOnFork, resetOnFork + batch];
    const refused = (['B', 'C'] as const).map((tier) =>
      policies.filter((policy) => verdictOf({ ...options, tier }, 'sched_setscheduler', [0, policy]) !== ALLOW),
    );
    const both = [resetOnFork, resetOnFork + batch];
    expect(refused).toEqual([both, both]);
    expect(verdictOf({ ...options, tier: 'B' }, 'sched_setattr')).toBe('EPERM');
  });

  it('refuses leases and delegations, in either tier, and no other use of fcntl', () => {
    const seen = (tier: 'B' | 'C') =>
      [0, 1, 2, 3, 4, 5, 6, 7, 8, 36, 37, 38, 1024, 1025, 1026, 1030, 1031, 1033, 1039, 1040, 1041].filter(
        (command) => verdictOf({ ...options, tier }, 'fcntl', [0, command, 1]) === 'EPERM',
      );
    expect([seen('B'), seen('C')]).toEqual([
      [1024, 1040],
      [1024, 1040],
    ]);
  });

  it('refuses System V memory, queues and semaphores in Tier B, where they are everybody’s', () => {
    const calls = 'shmget shmat shmctl msgget msgsnd msgrcv msgctl semget semop semtimedop semctl'.split(' ');
    const seen = (tier: 'B' | 'C') => new Set(calls.map((name) => verdictOf({ ...options, tier }, name)));
    expect([seen('B'), seen('C')]).toEqual([new Set(['EPERM']), new Set([ALLOW])]);
  });

  it('refuses in Tier B what changes others without a signal, by number or by user, and lets a tool change itself', () => {
    const seen = (name: string, args: readonly number[]) => verdictOf({ ...options, tier: 'B' }, name, args);
    const [ofProcess, ofGroup, ofUser] = [0, 1, 2].map((which) => seen('setpriority', [which, 0, 19]));
    expect([ofProcess, ofGroup, ofUser]).toEqual([ALLOW, ALLOW, 'EPERM']);
    expect([0, 1, 2].map((which) => seen('setpriority', [which, 7, 19]))).toEqual(['EPERM', 'EPERM', 'EPERM']);
  });

  it('keeps in Tier B no pair that can turn to a named socket either, unless those are allowed', () => {
    const seen = (unixSockets: 'allowed' | 'refused') =>
      [1, 2, 3, 5].map((type) => verdictOf({ arch, tier: 'B', unixSockets }, 'socketpair', [1, type + 0x80000]));
    expect([seen('refused'), seen('allowed')]).toEqual([
      [ALLOW, 'EPERM', 'EPERM', ALLOW],
      [ALLOW, ALLOW, ALLOW, ALLOW],
    ]);
  });

  it('is the same every time, and short', () => {
    expect(seccompProgram(options)).toEqual(seccompProgram({ ...options }));
    expect(seccompProgram(options).length / 8).toBeLessThan(256);
  });
});

describe('the bytes', () => {
  const start = (arch: SeccompArch) =>
    Buffer.from(seccompProgram({ arch, unixSockets: 'allowed' }).subarray(0, 48))
      .toString('hex')
      .match(/.{16}/g);

  it('begin with the architecture, then x32, on x86_64', () => {
    expect(start('x86_64')).toEqual([
      '2000000004000000',
      '150001003e0000c0',
      '0600000000000080',
      '2000000000000000',
      '4500000100000040',
      '0600000026000500',
    ]);
  });

  it('begin with the architecture, then halve the numbers, on arm64', () => {
    expect(start('arm64')).toEqual([
      '2000000004000000',
      '15000100b70000c0',
      '0600000000000080',
      '2000000000000000',
      '35002a00c8000000',
      '3500140059000000',
    ]);
  });
});

describe('describeSeccomp', () => {
  it('leaves out what the architecture does not have, and only that', () => {
    const names = (arch: SeccompArch) =>
      describeSeccomp({ arch, unixSockets: 'allowed' }).rules.flatMap((rule) =>
        rule.kind === 'calls' ? rule.calls.map(({ name }) => name) : [],
      );
    const only =
      '_sysctl chmod create_module creat get_kernel_syms ioperm iopl mknod modify_ldt open query_module uselib';
    expect(names('arm64')).toEqual(names('x86_64').filter((name) => !only.split(' ').includes(name)));
  });

  it('gives a reason for every rule', () => {
    const reasons = describeSeccomp({ arch: 'x86_64', unixSockets: 'refused' }).rules.map(({ why }) => why);
    expect(reasons.filter((why) => !/^\S.{10,}[^.]$/.test(why))).toEqual([]);
  });
});
