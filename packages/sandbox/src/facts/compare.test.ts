import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compareAtOnce as compare } from './compare-at-once.ts';
import type { ExpectedFacts } from './expected-facts.ts';
import { measure } from './measure.ts';
import type { RawFacts } from './raw-facts.ts';

const CAPTURED = readFileSync(new URL('../../../../tests/vectors/sandbox/raw-facts.json', import.meta.url), 'utf8');

const OWN = { uid: 0, gid: 0 };

const DEVICES = ['null', 'zero', 'full', 'random', 'urandom', 'tty', 'pts'].map((name) => `/dev/${name}`);
const WRITABLE = ['/proc', '/dev', '/srv/my shop', ...DEVICES];
const SIZED = ['/dev/shm', '/tmp', '/home/tool'];
const READ_ONLY = ['/', '/usr', '/etc/alternatives', '/srv/my shop/.git', '/run/inside.py'];

const EXPECTED = {
  identity: { uid: 65_534, gid: 65_534 },
  noGroups: true,
  namespaces: ['user', 'mnt', 'pid', 'net', 'ipc', 'uts', 'cgroup'],
  seccomp: true,
  noCapabilities: true,
  isolatedNetwork: true,
  rlimits: [
    { name: 'cpu', soft: 600, hard: 605 },
    { name: 'nofile', soft: 4096, hard: 4096 },
    { name: 'fsize', soft: 2 ** 32, hard: 2 ** 32 },
    { name: 'nproc', soft: 512, hard: 512 },
    { name: 'core', soft: 0, hard: 0 },
    { name: 'as', soft: Number.POSITIVE_INFINITY, hard: Number(2n ** 64n - 1n) },
  ],
  mounts: [
    ...WRITABLE.map((at) => ({ at, writable: true })),
    ...SIZED.map((at) => ({ at, writable: true, sizeBytes: 1024 * 1024 })),
    ...READ_ONLY.map((at) => ({ at, writable: false })),
  ],
  cgroups: [
    {
      directory: '/sys/fs/cgroup/memory/palyra-0001',
      settings: [{ file: 'memory.limit_in_bytes', value: String(512 * 1024 * 1024 + 100) }],
    },
    { directory: '/sys/fs/cgroup/pids/palyra-0001', settings: [{ file: 'pids.max', value: '64' }] },
    {
      directory: '/sys/fs/cgroup/cpu/palyra-0001',
      settings: [
        { file: 'cpu.cfs_period_us', value: '100000' },
        { file: 'cpu.cfs_quota_us', value: '150000' },
      ],
    },
    { directory: '/sys/fs/cgroup/cpuacct/palyra-0001', settings: [] },
  ],
  landlock: false,
  listener: false,
  bound: [{ path: '/srv/my shop', identity: '65024 4711' }],
} as const satisfies ExpectedFacts;

type Writable<T> = { -readonly [Key in keyof T]: T[Key] extends string | number ? T[Key] : Writable<T[Key]> };
type Draft = Writable<RawFacts>;
type Process = 'tool' | 'init' | 'inside';
type Change = (draft: Draft) => void;

function captured(change: Change = () => undefined): RawFacts {
  const draft = JSON.parse(CAPTURED) as Draft;
  change(draft);
  return draft;
}

function textsOf(draft: Draft, who: Process): { status: string; namespaces: Record<string, string> } {
  const found = who === 'inside' ? draft.inside : draft.outside[who === 'tool' ? 0 : 1];
  if (found === undefined) throw new Error(`The capture has no ${who}.`);
  return found;
}

/** A change that finds nothing to change would prove nothing. */
function replaced(text: string, from: string | RegExp, to: string): string {
  const result = text.replace(from, to);
  if (result === text) throw new Error(`Nothing was changed: ${from}`);
  return result;
}

function status(who: Process, key: string, value: string): Change {
  return (draft) => {
    const found = textsOf(draft, who);
    found.status = replaced(found.status, new RegExp(`^${key}:.*$`, 'm'), `${key}:\t${value}`);
  };
}

function inside(name: 'mountinfo' | 'route' | 'ipv6Route' | 'netDev', from: string | RegExp, to: string): Change {
  return (draft) => {
    draft.inside[name] = replaced(draft.inside[name], from, to);
  };
}

function limits(who: 'tool' | 'init', from: string | RegExp, to: string): Change {
  return (draft) => {
    const found = draft.outside[who === 'tool' ? 0 : 1] as { limits: string };
    found.limits = replaced(found.limits, from, to);
  };
}

function bound(identity: string | undefined): Change {
  return (draft) => {
    if (identity === undefined) delete draft.inside.bound['/srv/my shop'];
    else draft.inside.bound['/srv/my shop'] = replaced('65024 4711', /^.*$/, identity);
  };
}

function hostNamespace(who: Process, name: string): Change {
  return (draft) => {
    textsOf(draft, who).namespaces[name] = draft.hostNamespaces[name] as string;
  };
}

function cgroupLine(who: 'tool' | 'init', controller: string): Change {
  return (draft) => {
    const found = draft.outside[who === 'tool' ? 0 : 1] as { cgroup: string };
    found.cgroup = replaced(found.cgroup, `:${controller}:/palyra-0001`, `:${controller}:/palyra-0001/other`);
  };
}

function setting(path: string, value: string | undefined): Change {
  return (draft) => {
    const full = `/sys/fs/cgroup/${path}`;
    if (value === undefined) delete draft.cgroupFiles[full];
    else draft.cgroupFiles[full] = replaced(draft.cgroupFiles[full] ?? '', /^.*\n/, `${value}\n`);
  };
}

function findingsOf(raw: RawFacts, expected: ExpectedFacts = EXPECTED): readonly string[] {
  const result = compare(raw, expected, OWN);
  return result.kind === 'as_planned' ? [] : result.findings.map(({ what }) => what);
}

/** Each is one change of one fact, and the one sentence that must name it among the findings. */
const CHANGES: readonly (readonly [string, Change])[] = [
  ['The tool does not run as the planned user.', status('tool', 'Uid', '65534\t65534\t1000\t65534')],
  ['The tool does not run as the planned user.', status('tool', 'Uid', '1000\t1000\t1000\t1000')],
  ["The tool runs with the user id of the host's root.", status('tool', 'Uid', '65534\t65534\t0\t65534')],
  ["The sandbox's init does not run as the planned user.", status('init', 'Uid', '65534\t65534\t65534\t1000')],
  ["The sandbox's init runs with the user id of the host's root.", status('init', 'Uid', '0\t0\t0\t0')],
  ['The tool does not run as the planned group.', status('tool', 'Gid', '65534\t100\t65534\t65534')],
  ["The sandbox's init runs with the group id of the host's root.", status('init', 'Gid', '65534\t65534\t65534\t0')],
  ['The tool has kept supplementary groups.', status('tool', 'Groups', '998 ')],
  ["The sandbox's init has kept supplementary groups.", status('init', 'Groups', '4 998 ')],
  ['The tool can gain privileges by starting a program.', status('tool', 'NoNewPrivs', '0')],
  ["The sandbox's init can gain privileges by starting a program.", status('init', 'NoNewPrivs', '0')],
  [
    "From inside, the tool's no_new_privs flag is not what the host's /proc shows.",
    status('inside', 'NoNewPrivs', '0'),
  ],
  ['The tool is not under our seccomp filter.', status('tool', 'Seccomp', '0')],
  ['The tool is not under our seccomp filter.', status('tool', 'Seccomp', '1')],
  ['The tool is not under our seccomp filter.', status('tool', 'Seccomp_filters', '0')],
  ["The sandbox's init is not under our seccomp filter.", status('init', 'Seccomp', '0')],
  ["From inside, the tool's seccomp mode is not what the host's /proc shows.", status('inside', 'Seccomp', '0')],
  [
    "From inside, the tool's number of seccomp filters is not what the host's /proc shows.",
    status('inside', 'Seccomp_filters', '2'),
  ],
  ['The tool has capabilities in its effective set.', status('tool', 'CapEff', '0000000000200000')],
  ['The tool has capabilities in its ambient set.', status('tool', 'CapAmb', '0000000000000001')],
  ["The sandbox's init has capabilities in its permitted set.", status('init', 'CapPrm', '000001ffffffffff')],
  ["The sandbox's init has capabilities in its inheritable set.", status('init', 'CapInh', '0000000000000400')],
  ["The sandbox's init has capabilities in its bounding set.", status('init', 'CapBnd', '000001ffffffffff')],
  [
    "From inside, the tool's effective capability set is not what the host's /proc shows.",
    status('inside', 'CapEff', '0000000000000001'),
  ],
  ['The tool has threads that were not measured.', status('tool', 'Threads', '2')],
  ["The sandbox's init has threads that were not measured.", status('init', 'Threads', '2')],
  ["The tool is not a child of the sandbox's init.", status('tool', 'PPid', '1')],
  ["The sandbox's init is not the first process.", status('init', 'NSpid', '19897\t3')],
  ['The tool is not in a process id namespace as planned.', status('tool', 'NSpid', '19898')],
  [
    'The tool is not in a process id namespace as planned.',
    (draft) => {
      (draft.outside[0] as Draft['outside'][number]).pid += 1;
    },
  ],
  ["From inside, the tool's innermost process id is not what the host's /proc shows.", status('inside', 'NSpid', '3')],
  ["The tool is in the host's user namespace.", hostNamespace('tool', 'user')],
  ["The tool is in the host's net namespace.", hostNamespace('tool', 'net')],
  ["The sandbox's init is in the host's cgroup namespace.", hostNamespace('init', 'cgroup')],
  [
    "The sandbox's init is in another user namespace than the tool.",
    (draft) => {
      textsOf(draft, 'init').namespaces['user'] = 'user:[4026532177]';
    },
  ],
  ["From inside, the tool's ipc namespace is not what the host's /proc shows.", hostNamespace('inside', 'ipc')],
  ["The tool sees the host's network.", hostNamespace('inside', 'net')],
  ["The tool sees the host's mounts.", hostNamespace('inside', 'mnt')],
  ['The soft resource limit "cpu" of the tool is not the planned one.', limits('tool', /600( +605)/, '599$1')],
  ['The hard resource limit "cpu" of the tool is not the planned one.', limits('tool', '605', '606')],
  ['The soft resource limit "cpu" of the init is not the planned one.', limits('init', /600( +605)/, '601$1')],
  [
    'The hard resource limit "nproc" of the init is not the planned one.',
    limits('init', /^(Max processes +512 +)512 {6}/m, '$1unlimited'),
  ],
  [
    'The hard resource limit "core" of the tool is not the planned one.',
    limits('tool', /^(Max core file size +0 +)0 {9}/m, '$1unlimited'),
  ],
  [
    'The soft resource limit "as" of the tool is not the planned one.',
    limits('tool', /^(Max address space +)unlimited/m, '$11048576  '),
  ],
  ["The tool's network is not isolated.", inside('netDev', /^( +lo)(:.*)$/m, '$1$2\n  eth0$2')],
  ["The tool's network is not isolated.", inside('netDev', /^ +lo:.*\n/m, '')],
  [
    "The tool's network is not isolated.",
    inside('route', /$/, 'eth0\t00000000\t0100000A\t0003\t0\t0\t0\t00000000\t0\t0\t0\n'),
  ],
  ["The tool's network is not isolated.", inside('ipv6Route', / +lo\n/, ' eth0\n')],
  ['/usr is writable although it must not be.', inside('mountinfo', '/usr ro,', '/usr rw,')],
  ['The mount at /srv/my shop/.git is hidden, so it does not hold.', inside('mountinfo', /^81 80 /m, '81 65 ')],
  ['/tmp is writable without nosuid.', inside('mountinfo', '/tmp rw,nosuid,', '/tmp rw,')],
  ['What the host mounts later would appear in /usr.', inside('mountinfo', /( \/usr ro\S*)/, '$1 master:1')],
  ['/tmp is not of the planned size.', inside('mountinfo', /( \/tmp .*),size=1024k/, '$1')],
  ['At /srv/my shop is not what was there when the command was planned.', bound('65024 4712')],
  ['At /srv/my shop is not what was there when the command was planned.', bound('65025 4711')],
  ['At /srv/my shop is not what was there when the command was planned.', bound('')],
  ['At /srv/my shop is not what was there when the command was planned.', bound(undefined)],
  ['The tool is not in the cgroup that was made for it below "memory".', cgroupLine('tool', 'memory')],
  ['The tool is not in the cgroup that was made for it below "cpuacct".', cgroupLine('tool', 'cpuacct')],
  ['The sandbox\'s init is not in the cgroup that was made for it below "pids".', cgroupLine('init', 'pids')],
  [
    'The cgroup setting memory.limit_in_bytes does not hold the planned value.',
    setting('memory/palyra-0001/memory.limit_in_bytes', '536875008'),
  ],
  ['The cgroup setting pids.max does not hold the planned value.', setting('pids/palyra-0001/pids.max', 'max')],
  ['The cgroup setting pids.max does not hold the planned value.', setting('pids/palyra-0001/pids.max', undefined)],
  [
    'The cgroup setting cpu.cfs_quota_us does not hold the planned value.',
    setting('cpu/palyra-0001/cpu.cfs_quota_us', '-1'),
  ],
  [
    'The sandbox does not hold the planned number of processes.',
    (draft) => {
      draft.outside.pop();
    },
  ],
  [
    'The sandbox does not hold the planned number of processes.',
    (draft) => {
      draft.outside.push({ ...(draft.outside[1] as Draft['outside'][number]) });
    },
  ],
];

test('a sandbox that is as planned is measured', () => {
  expect(compare(captured(), EXPECTED, OWN)).toEqual({ kind: 'as_planned', facts: measure(captured()) });
});

test.each(CHANGES)('found and named: %s (%#)', (what, change) => {
  expect(findingsOf(captured(change))).toContain(what);
});

test('a finding says what was planned and what was found', () => {
  expect(compare(captured(status('init', 'Seccomp', '0')), EXPECTED, OWN)).toEqual({
    kind: 'differs',
    findings: [
      {
        what: "The sandbox's init is not under our seccomp filter.",
        expected: 'mode 2 with at least 1 filters',
        found: 'mode 0 with 1 filters',
      },
    ],
  });
});

test.each([
  ['599', limits('init', /600( +605)/, '599$1'), '600'],
  ['unlimited', limits('init', /600( +605)/, 'unlimited$1'), '600'],
  ['another one', bound('1 1'), 'the same file or directory'],
  ['nothing was measured', bound(undefined), 'the same file or directory'],
])('one change is one finding, which says that it found %s', (found, change, planned) => {
  expect(compare(captured(change), EXPECTED, OWN)).toEqual({
    kind: 'differs',
    findings: [{ what: expect.any(String), expected: planned, found }],
  });
});

describe('plans', () => {
  test('without an identity of its own the tool has the launcher’s', () => {
    const expected = { ...EXPECTED, identity: undefined };
    expect(compare(captured(), expected, { uid: 65_534, gid: 65_534 }).kind).toBe('as_planned');
    expect(compare(captured(), expected, { uid: 1000, gid: 1000 }).kind).toBe('differs');
  });

  test.each([{ uid: 0, gid: 0 }, undefined])('root is refused even if it was planned (%#)', (identity) => {
    const asRoot = captured((draft) => {
      for (const who of ['tool', 'init'] as const) {
        status(who, 'Uid', '0\t0\t0\t0')(draft);
        status(who, 'Gid', '0\t0\t0\t0')(draft);
      }
    });
    expect(findingsOf(asRoot, { ...EXPECTED, identity })).toEqual([
      "The tool runs with the user id of the host's root.",
      "The tool runs with the group id of the host's root.",
      "The sandbox's init runs with the user id of the host's root.",
      "The sandbox's init runs with the group id of the host's root.",
    ]);
  });

  test('a filter that the launcher was under already does not count as ours', () => {
    expect(compare(captured(), EXPECTED, { ...OWN, seccompFilters: 1 }).kind).toBe('differs');
  });

  test('Landlock rules that were planned must be there', () => {
    const expected = { ...EXPECTED, landlock: true };
    const withRules = (landlockRules: number) => findingsOf({ ...captured(), landlockRules }, expected);
    expect(withRules(3)).toEqual([]);
    const what = 'The tool is not under the planned Landlock rules.';
    expect([withRules(0), withRules(-1), withRules(Number.NaN)]).toEqual([[what], [what], [what]]);
  });

  test('everything that is bound is looked at, and what was not planned does not stand for it', () => {
    const missing = { path: '/srv/other', identity: '65024 4711' };
    expect(findingsOf(captured(), { ...EXPECTED, bound: [...EXPECTED.bound, missing] })).toEqual([
      'At /srv/other is not what was there when the command was planned.',
    ]);
    expect(findingsOf(captured(), { ...EXPECTED, bound: [{ ...missing, path: 'constructor' }] })).toHaveLength(1);
  });

  test('a limits-only plan looks neither at namespaces nor at the bounding set, and still demands NoNewPrivs', () => {
    const onHost = captured((draft) => {
      draft.outside.pop();
      draft.hostNamespaces = { ...draft.inside.namespaces };
      draft.inside.mountinfo = 'whatever the host has';
      draft.cgroupFiles = {};
      status('tool', 'NSpid', '19898')(draft);
      status('inside', 'NSpid', '19898')(draft);
      status('tool', 'CapBnd', '000001ffffffffff')(draft);
      status('inside', 'CapBnd', '000001ffffffffff')(draft);
    });
    const expected: ExpectedFacts = {
      ...EXPECTED,
      namespaces: [],
      isolatedNetwork: false,
      mounts: undefined,
      cgroups: [],
    };
    expect(findingsOf(onHost, expected)).toEqual([]);
    const [tool] = onHost.outside;
    const weak = { ...tool, status: (tool?.status ?? '').replace('NoNewPrivs:\t1', 'NoNewPrivs:\t0') };
    expect(findingsOf({ ...onHost, outside: [weak as RawFacts['outside'][number]] }, expected)).toContain(
      'The tool can gain privileges by starting a program.',
    );
  });

  test.each([
    ['memory.max', '1000000', '999424', true],
    ['memory.max', '1000000', '983040', true],
    ['memory.max', '1000000', '995328', false],
    ['memory.max', '1000000', '1000448', false],
    ['memory.max', 'max', 'max', true],
    ['memory.max', '1000000', 'max', false],
    ['memory.limit_in_bytes', '-1', '9223372036854771712', true],
    ['memory.limit_in_bytes', '4096', '9223372036854771712', false],
    ['memory.oom.group', '1', '0', false],
    ['cpu.cfs_quota_us', '-1', '-1', true],
    ['cpu.max', '50000', '50000 100000', true],
    ['cpu.max', '50000 100000', 'max 100000', false],
    ['pids.max', '64', '0', false],
  ])('%s planned as %s and read back as %s: %s', (file, value, found, same) => {
    const directory = '/sys/fs/cgroup/palyra.slice/palyra-0002';
    const raw = captured((draft) => {
      for (const process of draft.outside) process.cgroup = '0::/../palyra-0002\n';
      draft.cgroupFiles[`${directory}/${file}`] = `${found}\n`;
    });
    const findings = findingsOf(raw, { ...EXPECTED, cgroups: [{ directory, settings: [{ file, value }] }] });
    expect(findings).toEqual(same ? [] : [`The cgroup setting ${file} does not hold the planned value.`]);
  });
});

describe('any one value', () => {
  const other = (from: number) => fc.nat(2 ** 31).filter((value) => value !== from);
  const anyProcess = fc.constantFrom<Process[]>('tool', 'init', 'inside');
  const outsideProcess = fc.constantFrom<('tool' | 'init')[]>('tool', 'init');
  const namespace = fc.constantFrom(...EXPECTED.namespaces);
  const capability = fc.constantFrom('CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb');

  const change: fc.Arbitrary<Change> = fc.oneof(
    fc
      .tuple(outsideProcess, fc.constantFrom('Uid', 'Gid'), fc.nat(3), other(65_534))
      .map(([who, key, at, id]) =>
        status(who, key, [0, 1, 2, 3].map((index) => (index === at ? id : 65_534)).join('\t')),
      ),
    fc
      .tuple(outsideProcess, fc.array(fc.nat(), { minLength: 1 }))
      .map(([who, groups]) => status(who, 'Groups', `${groups.join(' ')} `)),
    fc
      .tuple(anyProcess, capability, fc.bigInt({ min: 1n, max: 2n ** 64n - 1n }))
      .map(([who, key, set]) => status(who, key, set.toString(16).padStart(16, '0'))),
    fc.tuple(anyProcess, other(2)).map(([who, mode]) => status(who, 'Seccomp', String(mode))),
    fc.tuple(anyProcess, other(1)).map(([who, threads]) => status(who, 'Threads', String(threads))),
    anyProcess.map((who) => status(who, 'NoNewPrivs', '0')),
    anyProcess.map((who) => status(who, 'Seccomp_filters', '0')),
    fc.tuple(anyProcess, namespace).map(([who, name]) => hostNamespace(who, name)),
    fc
      .tuple(anyProcess, namespace, fc.integer({ min: 1, max: 2 ** 31 }))
      .map(([who, name, inode]) => (draft: Draft) => {
        textsOf(draft, who).namespaces[name] = `${name}:[${inode}]`;
      }),
    fc.tuple(fc.nat(17), fc.constantFrom('at', 'gone', 'access')).map(([index, how]) => (draft: Draft) => {
      const lines = draft.inside.mountinfo.split('\n');
      const line = lines[index] ?? '';
      const turned = line.replace(/ (r[ow]),/, (_, word) => (word === 'ro' ? ' rw,' : ' ro,'));
      const moved = line.replace(/^((?:\S+ ){4}\S+)/, '$1x');
      lines.splice(index, 1, ...(how === 'gone' ? [] : [how === 'at' ? moved : turned]));
      draft.inside.mountinfo = lines.join('\n');
    }),
    fc
      .tuple(
        outsideProcess,
        fc.constantFrom('cpu time', 'file size', 'processes', 'open files', 'core file size'),
        fc.nat(),
        fc.boolean(),
      )
      .map(([who, title, value, soft]) => {
        const row = new RegExp(`^(Max ${title} +)([0-9]+)( +)([0-9]+)`, 'm');
        return limits(who, row, soft ? `$1${value}$3$4` : `$1$2$3${value}`);
      }),
    fc
      .tuple(fc.nat(17), fc.constantFrom('master', 'shared'), fc.integer({ min: 1, max: 2 ** 31 }))
      .map(([index, how, group]) => {
        const line = new RegExp(`^(${65 + index} .*) - `, 'm');
        return inside('mountinfo', line, `$1 ${how}:${group} - `);
      }),
    fc
      .tuple(fc.constantFrom('/dev/shm', '/tmp', '/home/tool'), other(1024))
      .map(([at, size]) => inside('mountinfo', new RegExp(`( ${at} .*,size=)1024k`), `$1${size}k`)),
    fc.tuple(fc.nat(), fc.nat()).map(([device, inode]) => bound(`${device} ${inode}`)),
    fc
      .tuple(outsideProcess, fc.constantFrom('memory', 'pids', 'cpu', 'cpuacct'))
      .map(([who, name]) => cgroupLine(who, name)),
    fc
      .tuple(fc.constantFrom('pids/palyra-0001/pids.max', 'cpu/palyra-0001/cpu.cfs_quota_us'), fc.nat(63))
      .map(([path, value]) => setting(path, String(value))),
  );

  test('that is changed makes it differ', () => {
    fc.assert(
      fc.property(change, (apply) => {
        const raw = tryCapture(apply);
        fc.pre(raw !== undefined);
        expect(compare(raw, EXPECTED, OWN).kind).toBe('differs');
      }),
      { numRuns: 1000 },
    );
  });

  /** A drawn value may be the one that was there. */
  function tryCapture(apply: Change): RawFacts | undefined {
    try {
      return captured(apply);
    } catch {
      return undefined;
    }
  }

  test('that is missing from the limits is a refusal, never unlimited', () => {
    const titles = ['cpu time', 'file size', 'processes', 'open files', 'core file size', 'address space'];
    fc.assert(
      fc.property(outsideProcess, fc.constantFrom(...titles), (who, title) => {
        const raw = captured(limits(who, new RegExp(`^Max ${title} .*\n`, 'm'), ''));
        expect(() => compare(raw, EXPECTED, OWN)).toThrow(
          expect.objectContaining({
            code: 'sandbox.enforcement_failed',
            message: expect.stringMatching(/^What the kernel says in limits, \w+ cannot be read: it is missing\.$/),
          }),
        );
      }),
    );
    expect(() => compare(captured(limits('init', /^.*$/s, '')), EXPECTED, OWN)).toThrow(
      'What the kernel says in limits cannot be read: it is empty.',
    );
  });

  test('that is missing from a status is a refusal, never a zero', () => {
    const keys = ['PPid', 'NSpid', 'Threads', 'Uid', 'Gid', 'Groups', 'NoNewPrivs', 'Seccomp', 'Seccomp_filters'];
    const all = [...keys, 'CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'];
    fc.assert(
      fc.property(anyProcess, fc.constantFrom(...all), (who, key) => {
        const raw = captured((draft) => {
          const found = textsOf(draft, who);
          found.status = replaced(found.status, new RegExp(`^${key}:.*\n`, 'm'), '');
        });
        expect(() => compare(raw, EXPECTED, OWN)).toThrow(
          expect.objectContaining({
            code: 'sandbox.enforcement_failed',
            message: `What the kernel says in status cannot be read: ${key} is missing.`,
          }),
        );
      }),
    );
  });
});
