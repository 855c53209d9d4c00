import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { SandboxCommand } from '../../command.ts';
import { DEFAULT_LIMITS, type SandboxProfile } from '../../profile.ts';
import { seccompProgram } from '../../seccomp/filter.ts';
import type { HostSurvey } from '../../survey/host-survey.ts';
import { planBubblewrap } from './plan.ts';

const PROFILE: SandboxProfile = {
  tier: 'C',
  workspace: { root: '/work/project', access: 'read-write' },
  readOnlyPaths: [],
  writablePaths: [],
  maskedPaths: [],
  executables: 'any',
  interpreters: 'allowed',
  egress: { mode: 'strict', hosts: [] },
  toolchains: 'operator',
  unixSockets: 'refused',
  limits: DEFAULT_LIMITS,
  mustHold: [],
  environment: ['CI'],
  startedFor: 'agent',
};

const SURVEY: HostSurvey & { readonly bubblewrap: string } = {
  bubblewrap: '/usr/bin/bwrap',
  arch: 'x86_64',
  identity: undefined,
  idmapWorkspace: false,
  workspace: { root: '/work/project', gitDirectories: [] },
  paths: { readOnly: [], writable: [] },
  bound: [{ path: '/work', identity: '1 2' }],
  systemRoots: [
    { kind: 'directory', path: '/usr' },
    { kind: 'link', path: '/bin', target: 'usr/bin' },
  ],
  hasSysrq: true,
  systemFiles: [
    { kind: 'mount', path: '/etc/ssl/certs' },
    { kind: 'copy', path: '/etc/localtime', bytes: Buffer.from('TZif') },
  ],
  toolchains: { path: '/usr/bin', readOnly: [], environment: {} },
  masked: [],
  outOfReach: new Set(),
  program: '/usr/bin/git',
  cgroups: {
    plans: [],
    facts: { driver: 'none', memory: 'per_process', processes: 'per_user', cpu: 'per_process' },
    cpuCounter: undefined,
  },
  landlock: undefined,
  tasksOnHost: 0,
  ceilings: {},
};

const COMMAND: SandboxCommand = { argv: ['git', 'status'] };

const plan = (survey: Partial<typeof SURVEY> = {}, profile: Partial<SandboxProfile> = {}) =>
  planBubblewrap(COMMAND, { ...PROFILE, ...profile }, { ...SURVEY, ...survey });

/** The places that an option names, in order. */
function targetsOf(wrapper: readonly string[] | undefined, option: string): readonly string[] {
  const args = wrapper ?? [];
  return args.flatMap((arg, at) => (arg === option ? [args[at + 2] ?? ''] : []));
}

describe('protected paths', () => {
  const protection = [
    { path: '/work/project/.git', writable: true, root: '/work/project' },
    { path: '/work/project/.git/hooks', writable: false, root: '/work/project' },
  ];

  it('are mounted after what they lie in and before what the profile hides', () => {
    const { wrapper, expected } = plan({ protection, masked: [{ path: '/work/project/secret', kind: 'file' }] });
    const text = wrapper?.join(' ') ?? '';
    const order = [
      '--bind /work/project /work/project',
      '--bind /work/project/.git /work/project/.git',
      '--ro-bind /work/project/.git/hooks /work/project/.git/hooks',
      '--ro-bind /dev/null /work/project/secret',
    ].map((part) => text.indexOf(part));
    expect(order).not.toContain(-1);
    expect(order).toEqual(order.toSorted((a, b) => a - b));
    expect(expected.mounts?.filter(({ within }) => within !== undefined)).toEqual([
      { at: '/work/project/.git', writable: true, within: '/work/project' },
      { at: '/work/project/.git/hooks', writable: false, within: '/work/project' },
    ]);
  });

  it('come from where the workspace was handed over', () => {
    const { wrapper } = plan({ protection, outOfReach: new Set(['/work/project']) });
    expect(wrapper?.join(' ')).toContain('--ro-bind /run/palyra/0/.git/hooks /work/project/.git/hooks');
  });

  it('cost nothing where there are none', () => {
    expect(plan({ protection: [] })).toEqual(plan());
  });
});

describe('the plan of a box', () => {
  it('is exactly this', () => {
    // None of the arguments holds a space.
    expect(plan().wrapper?.join(' ')).toBe(
      [
        '/usr/bin/bwrap',
        '--unshare-user --unshare-ipc --unshare-pid --unshare-net --unshare-uts --unshare-cgroup',
        '--disable-userns --die-with-parent --new-session --cap-drop ALL',
        '--hostname palyra --uid 1000 --gid 1000 --seccomp 10',
        '--ro-bind /usr /usr --symlink usr/bin /bin',
        '--proc /proc --ro-bind /proc/sys /proc/sys --ro-bind /dev/null /proc/sysrq-trigger --dev /dev',
        '--perms 1777 --size 1073741824 --tmpfs /dev/shm --remount-ro /dev',
        '--perms 1777 --size 1073741824 --tmpfs /tmp --perms 0700 --size 1073741824 --tmpfs /home/palyra',
        '--perms 0444 --file 11 /etc/passwd --perms 0444 --file 12 /etc/group',
        '--perms 0444 --file 13 /etc/nsswitch.conf --perms 0444 --file 14 /etc/hosts',
        '--perms 0444 --file 15 /etc/localtime --ro-bind /etc/ssl/certs /etc/ssl/certs',
        '--bind /work/project /work/project --remount-ro / /proc/self/fd/5 stage',
      ].join(' '),
    );
  });

  it('with a way out asks for a listener, and changes nothing of the box itself (T-22)', () => {
    const without = planBubblewrap(COMMAND, PROFILE, SURVEY);
    const withWayOut = planBubblewrap(COMMAND, PROFILE, { ...SURVEY, wayOut: true });
    const { tool, expected } = withWayOut;
    expect([without.listener, withWayOut.listener]).toEqual([false, true]);
    expect({ ...withWayOut, tool: without.tool, listener: false, expected: { ...expected, listener: false } }).toEqual(
      without,
    );
    expect(tool.environment).toEqual(
      expect.arrayContaining(['http_proxy=http://127.0.0.1:3128', 'NODE_USE_ENV_PROXY=1']),
    );
    expect(without.tool.environment.join()).not.toContain('3128');
  });

  it('says that nothing is restricted where nothing is, and lets no caller name another proxy', () => {
    const environment = { https_proxy: 'http://elsewhere:1', CI: '1' };
    const profile = { ...PROFILE, egress: { mode: 'none', hosts: [] }, environment: ['https_proxy', 'CI'] } as const;
    const open = planBubblewrap({ ...COMMAND, environment }, profile, { ...SURVEY, wayOut: true });
    expect(open.enforcement).toEqual({ fileSystem: 'isolated', network: 'open' });
    expect(open.expected.isolatedNetwork).toBe(true);
    expect(open.tool.environment).toEqual(expect.arrayContaining(['CI=1', 'https_proxy=http://127.0.0.1:3128']));
  });

  it('gives the tool a clean environment: ours, and of the caller only what the profile names', () => {
    const command = { ...COMMAND, environment: { CI: '1', SSH_AUTH_SOCK: '/run/agent', PATH: '/evil' } };
    expect(planBubblewrap(command, PROFILE, SURVEY).tool.environment).toEqual([
      'ASAN_OPTIONS=detect_leaks=0',
      'CARGO_NET_RETRY=0',
      'CI=1',
      'HOME=/home/palyra',
      'LANG=C.UTF-8',
      'LOGNAME=palyra',
      'PATH=/usr/bin',
      'PIP_RETRIES=0',
      'SHELL=/bin/sh',
      'TMPDIR=/tmp',
      'USER=palyra',
      'npm_config_fetch_retries=0',
    ]);
  });

  it('passes the seccomp program to bubblewrap itself', () => {
    const [first] = plan().data;
    expect(first).toEqual({ fd: 10, bytes: seccompProgram({ arch: 'x86_64', unixSockets: 'refused' }) });
  });

  it('stages an idmapped workspace, and read-only what the tool’s user cannot reach', () => {
    const { staged, wrapper } = plan(
      {
        identity: { uid: 870_000, gid: 870_000 },
        idmapWorkspace: true,
        toolchains: { path: '/usr/bin', readOnly: ['/root/.nvm/v24'], environment: {} },
        outOfReach: new Set(['/root/.nvm/v24']),
      },
      {},
    );
    expect(staged).toEqual([
      { name: '0', source: '/root/.nvm/v24', readOnly: true, idmap: false },
      { name: '1', source: '/work/project', readOnly: false, idmap: true },
    ]);
    expect(wrapper?.join(' ')).toContain('--ro-bind /run/palyra/0 /root/.nvm/v24 --bind /run/palyra/1 /work/project');
  });

  it('mounts no toolchain by itself that lies in what is shown anyway', () => {
    const toolchains = { path: '/opt/x/bin', readOnly: ['/opt/x/bin', '/opt/y'], environment: {} };
    const { wrapper } = plan({ toolchains, paths: { readOnly: ['/opt/x'], writable: [] } });
    const shown = targetsOf(wrapper, '--ro-bind').filter((path) => path.startsWith('/opt'));
    expect(shown).toEqual(['/opt/y', '/opt/x']);
  });

  it('masks after everything else is mounted', () => {
    const { wrapper } = plan({
      masked: [
        { path: '/work/project/secret', kind: 'directory' },
        { path: '/work/project/.env', kind: 'file' },
      ],
    });
    expect(wrapper?.join(' ')).toContain(
      '/work/project --perms 0000 --size 4096 --tmpfs /work/project/secret --remount-ro /work/project/secret ' +
        '--ro-bind /dev/null /work/project/.env --remount-ro /',
    );
  });

  it('binds a workspace read-only when the profile says so, and expects to find it so', () => {
    const { wrapper, expected } = plan({}, { workspace: { root: '/work/project', access: 'read-only' } });
    expect(targetsOf(wrapper, '--bind')).toEqual([]);
    expect(expected.mounts).toContainEqual({ at: '/work/project', writable: false });
  });

  it('is the same for the same command and profile, and names every mount that it makes', () => {
    const segment = fc.stringMatching(/^[a-z]{1,8}$/);
    const path = fc.array(segment, { minLength: 1, maxLength: 3 }).map((parts) => `/x/${parts.join('/')}`);
    const lists = fc.uniqueArray(path, { maxLength: 6 });
    fc.assert(
      fc.property(lists, lists, lists, fc.boolean(), (readOnly, toolchains, masked, outOfReach) => {
        const survey = {
          toolchains: { path: '/usr/bin', readOnly: toolchains, environment: {} },
          masked: masked.map((each) => ({ path: each, kind: 'file' as const })),
          outOfReach: new Set(outOfReach ? [...readOnly, ...toolchains] : []),
          identity: { uid: 1001, gid: 1001 },
          paths: { readOnly, writable: [] },
        };
        const once = plan(survey);
        expect(plan(survey)).toEqual(once);
        const bound = [...targetsOf(once.wrapper, '--ro-bind'), ...targetsOf(once.wrapper, '--bind')];
        const known = new Set(once.expected.mounts?.map(({ at }) => at));
        expect(bound.filter((at) => !known.has(at))).toEqual([]);
        expect(once.wrapper?.slice(-4)).toEqual(['--remount-ro', '/', '/proc/self/fd/5', 'stage']);
        // Only what the plan calls writable is bound so.
        expect(targetsOf(once.wrapper, '--bind')).toEqual(['/work/project']);
      }),
    );
  });

  it('puts copies of bound files into the root of the box, which is read-only after that', () => {
    const placed = {
      files: [{ at: '/run/palyra-bound/0/x.sh', bytes: Buffer.from('true\n') }],
      links: [{ at: '/run/palyra-bound/0/lib', target: '/work/project/lib' }],
      inPlace: [{ path: '/usr/bin/dash', identity: '1 9' }],
    };
    const { wrapper = [], data, expected } = plan({ placed });
    const file = wrapper.indexOf('/run/palyra-bound/0/x.sh');
    const fd = data.at(-1)?.fd;
    expect(wrapper.slice(file - 4, file + 1)).toEqual(['--perms', '0555', '--file', String(fd), placed.files[0]?.at]);
    expect(data.at(-1)?.bytes).toEqual(Buffer.from('true\n'));
    const link = wrapper.indexOf('/run/palyra-bound/0/lib');
    expect(wrapper.slice(link - 2, link + 1)).toEqual(['--symlink', '/work/project/lib', '/run/palyra-bound/0/lib']);
    const readOnly = wrapper.lastIndexOf('--remount-ro');
    expect(wrapper[readOnly + 1]).toBe('/');
    expect(Math.max(file, link)).toBeLessThan(readOnly);
    expect(expected.bound).toContainEqual({ path: '/usr/bin/dash', identity: '1 9' });
  });
});

describe('a home that holds something', () => {
  const home = {
    shown: [
      { path: '.agent/login', source: '/home/op/.agent/login', writable: true },
      { path: '.rules', source: '/home/op/.rules', writable: false },
    ],
    copied: [{ path: '.agent/config', bytes: Buffer.from('{}') }],
    files: [{ path: '.agent/hooks', bytes: Buffer.from('ours') }],
    settings: [{ path: '/etc/agent/managed.json', bytes: Buffer.from('settled') }],
  };

  it('has its directories as mounts, so that nothing in them can be moved away', () => {
    const { wrapper, expected, data } = plan({ home });
    const text = wrapper?.join(' ') ?? '';
    expect(text).toContain(
      [
        '--perms 0700 --size 1073741824 --tmpfs /home/palyra/.agent',
        '--bind /home/op/.agent/login /home/palyra/.agent/login',
        '--ro-bind /home/op/.rules /home/palyra/.rules',
        '--perms 0600 --file 17 /home/palyra/.agent/config',
        '--perms 0444 --ro-bind-data 18 /home/palyra/.agent/hooks',
      ].join(' '),
    );
    expect(text).toContain('--perms 0444 --file 16 /etc/agent/managed.json');
    expect(data.map(({ fd, bytes }) => [fd, Buffer.from(bytes).toString()]).slice(-3)).toEqual([
      [16, 'settled'],
      [17, '{}'],
      [18, 'ours'],
    ]);
    expect(expected.mounts).toEqual(
      expect.arrayContaining([
        { at: '/home/palyra/.agent', writable: true, sizeBytes: DEFAULT_LIMITS.tmpfsBytes },
        { at: '/home/palyra/.agent/login', writable: true },
        { at: '/home/palyra/.rules', writable: false },
        { at: '/home/palyra/.agent/hooks', writable: false },
      ]),
    );
  });
});
