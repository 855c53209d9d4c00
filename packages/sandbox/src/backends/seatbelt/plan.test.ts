import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import type { SandboxCommand } from '../../command.ts';
import { DEFAULT_LIMITS, type SandboxProfile } from '../../profile.ts';
import { judgePolicy, readForms } from './judge-policy.ts';
import { planSeatbelt, type SeatbeltPlan, type SeatbeltSurvey } from './plan.ts';

const HOME = '/Users/ada';
const ROOT = `${HOME}/code/shop`;

const PROFILE: SandboxProfile = {
  tier: 'C',
  workspace: { root: ROOT, access: 'read-write' },
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

const SURVEY: SeatbeltSurvey = {
  workspace: { root: ROOT, gitDirectories: [] },
  operatorHome: HOME,
  home: '/private/var/folders/zz/palyra/1/home',
  temporary: '/private/var/folders/zz/palyra/1/tmp',
  developerDirectory: '/Applications/Xcode.app/Contents/Developer',
  toolchains: {
    path: '/opt/homebrew/bin:/usr/bin:/bin',
    readOnly: ['/opt/homebrew/bin', '/opt/homebrew/Cellar', `${HOME}/.nvm/versions/node/v24.0.0`],
    environment: {},
  },
  resolved: new Map(),
  masked: [`${HOME}/.palyra`],
  protectedPaths: [`${ROOT}/.git/hooks`, `${ROOT}/.git/config`],
  program: '/usr/bin/git',
  terminalDevice: undefined,
  tasksOnHost: 700,
};

const COMMAND: SandboxCommand = { argv: ['git', 'status', '--short'], environment: { CI: '1', SSH_AUTH_SOCK: '/s' } };

interface Changes {
  readonly command?: Partial<SandboxCommand>;
  readonly profile?: Partial<SandboxProfile>;
  readonly survey?: Partial<SeatbeltSurvey>;
}

const planning = ({ command, profile, survey }: Changes = {}) =>
  planSeatbelt({ ...COMMAND, ...command }, { ...PROFILE, ...profile }, { ...SURVEY, ...survey });

function plan(changes: Changes = {}): SeatbeltPlan {
  const planned = planning(changes);
  if (planned.kind === 'refused') throw new Error(planned.message);
  return planned.plan;
}

/** Names and values as `-D` gives them. */
function parametersOf({ argv }: SeatbeltPlan) {
  return argv.slice(3, argv.indexOf('--')).flatMap((each, at, all) => {
    if (all[at - 1] !== '-D') return [];
    const cut = each.indexOf('=');
    return [{ name: each.slice(0, cut), value: each.slice(cut + 1) }];
  });
}

const judge = (made: SeatbeltPlan, operation: string, path: string) =>
  judgePolicy({ text: made.policy, parameters: parametersOf(made) }, { operation, path });

const READING = ['file-read-data', 'file-read-metadata', 'file-test-existence', 'file-map-executable', 'process-exec'];
const CHANGING = ['file-write-data', 'file-write-create', 'file-write-unlink', 'file-link', 'file-clone'];
const allowedOf = (made: SeatbeltPlan, operations: readonly string[], path: string) =>
  operations.filter((operation) => judge(made, operation, path) === 'allow');

describe('the plan of a Mac', () => {
  it('has exactly this profile', () => {
    expect(plan().policy).toBe(readFileSync('tests/vectors/sandbox/seatbelt-default.sb', 'utf8'));
  });

  it('is exactly this argv, environment and limits', () => {
    const { argv, policy, environment, cwd, rlimits } = plan();
    expect(argv.slice(0, 3)).toEqual(['/usr/bin/sandbox-exec', '-p', policy]);
    expect(argv.slice(3)).toEqual([
      ...[
        `OPERATOR_HOME=${HOME}`,
        'READABLE_0=/Applications/Xcode.app/Contents/Developer',
        'READABLE_1=/opt/homebrew/bin',
        'READABLE_2=/opt/homebrew/Cellar',
        `READABLE_3=${HOME}/.nvm/versions/node/v24.0.0`,
        'WRITABLE_0=/private/var/folders/zz/palyra/1/home',
        'WRITABLE_1=/private/var/folders/zz/palyra/1/tmp',
        `WRITABLE_2=${ROOT}`,
        `HIDDEN_0=${HOME}/.palyra`,
        `KEPT_0=${ROOT}/.git/hooks`,
        `KEPT_1=${ROOT}/.git/config`,
        'PINNED_0=/private/var/folders/zz/palyra/1/home',
        'PINNED_1=/private/var/folders/zz/palyra/1/tmp',
        `PINNED_2=${ROOT}`,
        `PINNED_3=${ROOT}/.git`,
      ].flatMap((definition) => ['-D', definition]),
      '--',
      '/usr/bin/git',
      'status',
      '--short',
    ]);
    expect(environment).toEqual([
      'CI=1',
      'DEVELOPER_DIR=/Applications/Xcode.app/Contents/Developer',
      'HOME=/private/var/folders/zz/palyra/1/home',
      'LANG=C.UTF-8',
      'PATH=/opt/homebrew/bin:/usr/bin:/bin',
      'SHELL=/bin/sh',
      'TMPDIR=/private/var/folders/zz/palyra/1/tmp',
    ]);
    expect(cwd).toBe(ROOT);
    expect(rlimits.map(({ name }) => name)).toEqual(['cpu', 'nofile', 'fsize', 'nproc', 'core']);
  });

  it('begins by denying everything, and is printable', () => {
    const { policy } = plan();
    expect(policy.startsWith('(version 1)\n(deny default)\n')).toBe(true);
    expect(policy).toMatch(/^[\x20-\x7e\n]*$/);
    expect(readForms(policy).filter(([head, operation]) => head === 'allow' && operation === 'default')).toEqual([]);
  });

  it('has no rule about everything but these, also where there is nothing to give, hide or keep', () => {
    const bare = plan({
      profile: { workspace: { root: ROOT, access: 'read-only' } },
      survey: {
        developerDirectory: undefined,
        toolchains: { path: '/usr/bin', readOnly: [], environment: {} },
        masked: [],
        protectedPaths: [],
      },
    });
    for (const { policy } of [plan(), bare]) {
      const unfiltered = readForms(policy).filter((form) => form.every((each) => typeof each === 'string'));
      expect(unfiltered.map((form) => form.join(' '))).toEqual([
        'version 1',
        'deny default',
        'allow process-fork',
        'allow ipc-posix-sem',
        'deny network*',
        'deny job-creation lsopen appleevent-send',
        'deny authorization-right-obtain distributed-notification-post hid-control',
        'deny device-camera device-microphone user-preference* nvram* iokit-open*',
      ]);
    }
  });

  it('lets two services be found, and no network be used', () => {
    const forms = readForms(plan().policy).filter(([head]) => head === 'allow');
    expect(forms.filter((form) => form.includes('mach-lookup'))).toEqual([
      [
        'allow',
        'mach-lookup',
        ['global-name', '"com.apple.system.opendirectoryd.libinfo'],
        ['global-name', '"com.apple.system.opendirectoryd.membership'],
      ],
    ]);
    expect(forms.filter((form) => form.some((each) => String(each).startsWith('network')))).toEqual([]);
  });
});

describe('what a command reaches', () => {
  test.each<[string, readonly string[], readonly string[]]>([
    ['/usr/bin/git', READING, []],
    ['/System/Library/Frameworks/Security.framework/Security', READING, []],
    ['/System/Volumes/Data/Users/ada/.ssh/id_ed25519', [], []],
    ['/usr/local/etc/npmrc', [], []],
    ['/private/etc/hosts', READING.slice(0, 3), []],
    ['/private/etc/master.passwd', [], []],
    ['/Library/Keychains/System.keychain', [], []],
    [`${ROOT}/src/index.ts`, READING, CHANGING],
    [`${HOME}/.nvm/versions/node/v24.0.0/bin/node`, READING, []],
    [HOME, ['file-read-metadata', 'file-test-existence'], []],
    [`${HOME}/code/other/index.ts`, [], []],
    [`${HOME}/.zshrc`, [], []],
    [`${HOME}/Library/Keychains/login.keychain-db`, [], []],
    [`${HOME}/.palyra/journal.db`, [], []],
    ['/private/var/folders/zz/palyra/1/tmp/a', READING, CHANGING],
    ['/private/var/folders/zz/palyra/2/tmp/a', [], []],
    ['/private/tmp/a', [], []],
    [`${ROOT}/.git/hooks/pre-commit`, READING, []],
    [`${ROOT}/.git/index`, READING, CHANGING],
    ['/dev/ttys000', [], []],
  ])('%s', (path, reading, changing) => {
    expect([allowedOf(plan(), READING, path), allowedOf(plan(), CHANGING, path)]).toEqual([reading, changing]);
  });

  it('cannot rename or clone what a hidden or protected path lies in', () => {
    const made = plan({ profile: { maskedPaths: [`${ROOT}/a/b/secret`] } });
    for (const directory of [ROOT, `${ROOT}/a`, `${ROOT}/a/b`, `${ROOT}/.git`]) {
      expect(allowedOf(made, ['file-write-unlink', 'file-clone'], directory)).toEqual([]);
      expect(judge(made, 'file-write-create', `${directory}/new`)).toBe('allow');
    }
    expect(allowedOf(made, [...READING, ...CHANGING], `${ROOT}/a/b/secret/key`)).toEqual([]);
  });

  it('cannot rename what credentials lie in, though it was given it', () => {
    const made = plan({ profile: { writablePaths: [`${HOME}/.config`, `${HOME}/.local`] } });
    expect(judge(made, 'file-write-unlink', `${HOME}/.local/share`)).toBe('deny');
    expect(judge(made, 'file-read-data', `${HOME}/.config/gh/hosts.yml`)).toBe('deny');
    expect(judge(made, 'file-read-data', `${HOME}/.config/app`)).toBe('allow');
  });

  it('cannot write a read-only workspace, nor what is read-only in a writable one', () => {
    const readOnly = plan({ profile: { workspace: { root: ROOT, access: 'read-only' } } });
    expect(allowedOf(readOnly, [...READING, ...CHANGING], `${ROOT}/x`)).toEqual(READING);
    const inside = plan({ profile: { readOnlyPaths: [`${ROOT}/vendor`] } });
    expect(allowedOf(inside, [...READING, ...CHANGING], `${ROOT}/vendor/x`)).toEqual(READING);
  });

  it('is named as the kernel names it', () => {
    const made = plan({
      profile: { writablePaths: ['/tmp/out'], maskedPaths: ['/var/run/x', '/link'], readOnlyPaths: ['/etc/shop/'] },
      survey: {
        workspace: { root: '/System/Volumes/Data/Users/ada/code/shop', gitDirectories: [] },
        resolved: new Map([['/link', '/private/real']]),
      },
    });
    expect(allowedOf(made, CHANGING, '/private/tmp/out/a')).toEqual(CHANGING);
    expect(parametersOf(made).map(({ value }) => value)).toEqual(
      expect.arrayContaining(['/private/etc/shop', '/private/var/run/x', '/private/real', '/link', ROOT]),
    );
  });

  it('is never the operator’s home, though it may lie where everybody reads', () => {
    const made = plan({ survey: { operatorHome: '/usr/share/ada', masked: [] } });
    expect(allowedOf(made, [...READING, ...CHANGING], '/usr/share/ada/notes')).toEqual([]);
    expect(judge(made, 'file-read-data', '/usr/share/zoneinfo/UTC')).toBe('allow');
  });

  it('has its own terminal and no other', () => {
    const made = plan({ command: { terminal: { rows: 24, columns: 80 } }, survey: { terminalDevice: '/dev/ttys012' } });
    expect(allowedOf(made, ['file-read-data', 'file-write-data', 'file-ioctl'], '/dev/ttys012')).toHaveLength(3);
    expect(allowedOf(made, ['file-read-data', 'file-write-data', 'file-ioctl'], '/dev/ttys003')).toEqual([]);
  });

  it('has sockets only where it may write, and still no network', () => {
    const { policy } = plan({ profile: { unixSockets: 'allowed' } });
    const allowed = readForms(policy).filter(
      ([head, operation]) => head === 'allow' && String(operation).startsWith('network'),
    );
    expect(allowed.map((form) => form.slice(1).filter((each) => typeof each === 'string'))).toEqual([
      ['network-bind', 'network-inbound'],
      ['network-outbound'],
    ]);
    expect(allowed.flatMap((form) => form.filter((each) => typeof each !== 'string').map((each) => each[1]))).toEqual(
      Array.from({ length: 6 }, () => 'unix-socket'),
    );
    expect(policy.trimEnd().endsWith('(deny network-bind network-inbound\n  (local ip))')).toBe(true);
  });
});

describe('what is refused', () => {
  test.each<[string, Changes, string]>([
    ['Tier B', { profile: { tier: 'B' } }, 'sandbox.unsupported'],
    ['hosts', { profile: { egress: { mode: 'strict', hosts: ['example.org'] } } }, 'sandbox.unsupported'],
    ['an open network', { profile: { egress: { mode: 'none', hosts: [] } } }, 'sandbox.unsupported'],
    ['a limit for the tree', { profile: { mustHold: ['memory'] } }, 'sandbox.unsupported'],
    ['a terminal that is not there', { command: { terminal: { rows: 1, columns: 1 } } }, 'sandbox.unsupported'],
    ['the home', { survey: { workspace: { root: HOME, gitDirectories: [] } } }, 'sandbox.unsafe_workspace'],
    ['more than the home', { profile: { readOnlyPaths: ['/Users'] } }, 'sandbox.unsafe_workspace'],
    ['everything', { profile: { writablePaths: ['/'] } }, 'sandbox.unsafe_workspace'],
    ['keys', { profile: { readOnlyPaths: [`${HOME}/.ssh/keys`] } }, 'sandbox.unsafe_workspace'],
    ['a keychain', { profile: { readOnlyPaths: ['/Library/Keychains'] } }, 'sandbox.unsafe_workspace'],
    ['a place in a hidden one', { survey: { home: `${HOME}/.palyra/home` } }, 'sandbox.invalid_profile'],
    ['a line break', { profile: { maskedPaths: ['/a\nb'] } }, 'sandbox.invalid_profile'],
    ['a relative path', { survey: { masked: ['secret'] } }, 'sandbox.invalid_profile'],
  ])('%s', (_what, changes, code) => {
    expect(planning(changes)).toMatchObject({ kind: 'refused', code, fix: expect.stringMatching(/\.$/) });
  });
});

describe('a hostile path', () => {
  const hostile = fc.oneof(
    fc.constantFrom('")(allow default)', '\\")) (allow file* (subpath "/', ';', '#"', '(param "X")', '-D', 'A=B', '"'),
    fc.string({ minLength: 1, maxLength: 24, unit: 'grapheme' }),
  );
  const segment = hostile
    .map((text) => text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}/]/gu, '_'))
    .filter((text) => !/^\.*$/.test(text));
  const path = fc.array(segment, { minLength: 1, maxLength: 3 }).map((parts) => `/srv/${parts.join('/')}`);

  it('never gets into the program, and stays one value', () => {
    const plain = plan({ profile: { writablePaths: ['/srv/w'], maskedPaths: ['/srv/m/m'] } });
    fc.assert(
      fc.property(path, path, (writable, masked) => {
        fc.pre(writable !== masked && !masked.startsWith(`${writable}/`) && !writable.startsWith(`${masked}/`));
        const made = plan({ profile: { writablePaths: [writable], maskedPaths: [masked] } });
        expect(made.policy).toBe(plain.policy);
        expect(made.argv).toHaveLength(plain.argv.length);
        expect(parametersOf(made)).toContainEqual({ name: 'WRITABLE_2', value: writable });
        expect(parametersOf(made)).toContainEqual({ name: 'HIDDEN_0', value: masked });
      }),
    );
  });

  it('is hidden when it is masked, wherever else it lies', () => {
    fc.assert(
      fc.property(path, fc.constantFrom('writablePaths', 'readOnlyPaths'), (each, list) => {
        const made = plan({ profile: { [list]: ['/srv'], maskedPaths: [each] } });
        expect(allowedOf(made, [...READING, ...CHANGING], `${each}/x`)).toEqual([]);
        expect(judge(made, 'file-read-data', `${each}x`)).toBe('allow');
      }),
    );
  });

  it('of the operator is out of reach, unless it was given', () => {
    fc.assert(
      fc.property(path, (each) => {
        const other = `${HOME}/code/shop-${each.slice('/srv/'.length)}`;
        expect(allowedOf(plan(), [...READING, ...CHANGING], other)).toEqual([]);
      }),
    );
  });
});
