import fc from 'fast-check';
import { expect, test } from 'vitest';
import { DEFAULT_LIMITS, type SandboxProfile } from '../profile.ts';
import { createInMemoryFiles } from './in-memory-files.ts';
import { createPathScope, refuseArgument, refusePath } from './path-arguments.ts';

const files = createInMemoryFiles({
  '/home/ada/ws/src/deep/a.ts': 'a',
  '/home/ada/ws/inner': '-> src/deep',
  '/home/ada/ws/out': '-> ../../../etc',
  '/home/ada/ws/far': '-> /home/ada/ws/out',
  '/home/ada/ws/new': '-> /var/new',
  '/home/ada/ws/round': '-> round',
  '/home/ada/ws/closed': 'unreadable',
  '/home/ada/ws/nothing': '-> /dev/null',
  '/home/ada/.ssh/id': 'k',
  '/etc/passwd': 'p',
  '/dev/null': '',
  '/dev/fd': '-> /proc/self/fd',
  '/link-to-ws': '-> /home/ada/ws',
});

const PROFILE: SandboxProfile = {
  tier: 'B',
  workspace: { root: '/link-to-ws', access: 'read-write' },
  readOnlyPaths: [],
  writablePaths: [],
  maskedPaths: [],
  executables: 'any',
  interpreters: 'refused',
  egress: { mode: 'none', hosts: [] },
  toolchains: 'none',
  unixSockets: 'refused',
  limits: DEFAULT_LIMITS,
  mustHold: [],
  environment: [],
  startedFor: 'agent',
};
const scope = createPathScope({ profile: PROFILE, cwd: '/home/ada/ws', toolchainPaths: ['/opt/tools'], files });

const outside = fc.constantFrom(
  '/etc/passwd',
  '//etc//passwd',
  '/etc/./passwd',
  '/home/ada/ws/../.ssh/id',
  '/home/ada/ws-other/x',
  '/home/ada',
  '/',
  '~',
  '~/.ssh/id',
  '~root/x',
  '../.ssh/id',
  './../x',
  'src/../../x',
  'missing/../../x',
  'out',
  'out/passwd',
  './out/passwd',
  'src/../out/passwd',
  'far/passwd',
  'inner/../../../x',
  'inner/../../.ssh/id',
  'new',
  'round',
  'closed/x',
  '/proc/self/root/etc/passwd',
  '/proc/self/cwd',
  '/proc/thread-self/root',
  '/proc/1/environ',
  '/dev/fd/3',
  '/link-to-ws/../etc/passwd',
);

/** How a command line may carry a path. */
const spelling = fc.constantFrom<(path: string) => string>(
  (path) => path,
  (path) => `--dir=${path}`,
  (path) => `--a=b=${path}`,
  (path) => `--a=b:${path}`,
  (path) => `-C${path}`,
  (path) => `-vC${path}`,
  (path) => `-xvzC${path}`,
  (path) => `if=${path}`,
  (path) => `@${path}`,
  (path) => `-d@${path}`,
  (path) => `name=@${path}`,
  (path) => `name=<${path}`,
  (path) => `name=@"${path}"`,
  (path) => `name=@src/a.ts,${path}`,
  (path) => `name=@${path};type=text/plain`,
  (path) => `src:${path}`,
  (path) => `${path}:src`,
  (path) => `--flags=-C${path}`,
  (path) => `-Wl,-T${path}`,
  (path) => `-o ${path}`,
  (path) => `{"file":"${path}"}`,
  (path) => `http://host,${path}`,
);

test('a path to the outside is refused in every spelling', () => {
  fc.assert(
    fc.property(outside, spelling, (path, spell) => {
      expect(refuseArgument(spell(path), scope)).toBeTypeOf('string');
    }),
    { numRuns: 1000 },
  );
});

const name = fc
  .stringMatching(/^[a-z][a-z0-9._+-]{0,8}$/)
  .filter((text) => !/^(?:out|far|new|round|closed)/.test(text));

test('a path inside the workspace is accepted, however it is written', () => {
  const inside = fc
    .array(name, { minLength: 1, maxLength: 4 })
    .chain((names) => fc.constantFrom(names.join('/'), `./${names.join('/')}`, `/home/ada/ws/${names.join('/')}`));
  const plain = fc.constantFrom<(path: string) => string>(
    (path) => path,
    (path) => `--dir=${path}`,
    (path) => `--a=b=${path}`,
    (path) => `if=${path}`,
    (path) => `@${path}`,
    (path) => `${path}:src`,
    (path) => `name=@${path},src/a.ts`,
    (path) => `src/x/../${path.replace(/^\//, '')}`,
  );
  fc.assert(
    fc.property(inside, plain, (path, spell) => {
      expect(refuseArgument(spell(path), scope)).toBeUndefined();
    }),
    { numRuns: 1000 },
  );
});

test('no text whatever makes the check throw', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => {
      expect(['string', 'undefined']).toContain(typeof refuseArgument(text, scope));
    }),
  );
});

test.each([
  ['/dev/null', undefined],
  ['/dev//stdin', undefined],
  ['nothing', undefined],
  ['/opt/tools/bin', undefined],
  ['/link-to-ws/src', undefined],
  ['user@host:path/to', undefined],
  ['git@host:org/repo.git', undefined],
  ['user@host:/srv/app', undefined],
  ['https://user:word@example.com:8443/a/b', undefined],
  ['HEAD~1', undefined],
  ['backup~', undefined],
  ['round', 'leads through a loop of links'],
  ['closed/x', 'leads through a directory that cannot be read'],
  ['/proc/self/root', "leads through a process's own links"],
  ['~/x', 'names a home directory'],
  ['/etc/passwd', 'leads out of the workspace'],
])('%s: %s', (argument, refusal) => {
  expect(refuseArgument(argument, scope)).toBe(refusal);
});

test('a text longer than any path is checked part by part', () => {
  expect(refuseArgument('a,'.repeat(60_000), scope)).toBeUndefined();
  expect(refuseArgument(`${'x/'.repeat(1500)}../y`, scope)).toBeUndefined();
  expect(refuseArgument(`${'a,'.repeat(1000)}/etc/passwd`, scope)).toBe('leads out of the workspace');
});

test('a hidden path stays hidden, by its own name and through a link', () => {
  const profile = { ...PROFILE, maskedPaths: ['/home/ada/ws/src/deep'] };
  const masked = createPathScope({ profile, cwd: '/home/ada/ws', toolchainPaths: [], files });
  expect(['src/deep/a.ts', 'inner/a.ts', 'src'].map((path) => refusePath(path, 'read', masked))).toEqual([
    'is hidden by the profile',
    'is hidden by the profile',
    undefined,
  ]);
});
