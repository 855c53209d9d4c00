import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { mountFindings } from './compare-mounts.ts';
import type { ExpectedMount } from './expected-facts.ts';
import { parseMountinfo } from './parse-mountinfo.ts';
import type { RawFacts } from './raw-facts.ts';

const CAPTURED = readFileSync(new URL('../../../../tests/vectors/sandbox/raw-facts.json', import.meta.url), 'utf8');
const TABLE = (JSON.parse(CAPTURED) as RawFacts).inside.mountinfo;

const DEVICES = ['null', 'zero', 'full', 'random', 'urandom', 'tty', 'pts'].map((name) => `/dev/${name}`);

const EXPECTED: readonly ExpectedMount[] = [
  ...['/proc', '/dev', '/srv/my shop', ...DEVICES].map((at) => ({ at, writable: true })),
  ...['/dev/shm', '/tmp', '/home/tool'].map((at) => ({ at, writable: true, sizeBytes: 1024 * 1024 })),
  ...['/', '/usr', '/etc/alternatives', '/srv/my shop/.git', '/run/inside.py'].map((at) => ({ at, writable: false })),
];

/** A change that finds nothing to change would prove nothing. */
function changed(from: string | RegExp, to: string): string {
  const result = TABLE.replace(from, to);
  if (result === TABLE) throw new Error(`Nothing was changed: ${from}`);
  return result;
}

function findingsIn(table: string, expected = EXPECTED) {
  return mountFindings(parseMountinfo(table), expected);
}

const sentencesIn = (table: string, expected = EXPECTED) => findingsIn(table, expected).map(({ what }) => what);

const MOUNT_LINE = '90 65 0:99 / /extra rw,nosuid,nodev,relatime - tmpfs tmpfs rw\n';

test('a table as planned has nothing that differs', () => {
  expect(findingsIn(TABLE)).toEqual([]);
});

test.each([
  ['/usr is writable although it must not be.', changed('/usr ro,', '/usr rw,')],
  ['/ is writable although it must not be.', changed('/newroot / ro,', '/newroot / rw,')],
  ['/tmp is not writable although it should be.', changed('/tmp rw,', '/tmp ro,')],
  ['/home/tool is not writable although it should be.', changed(/(\/home\/tool .* - tmpfs tmpfs )rw/, '$1ro')],
  ['Something is mounted at /extra that is not in the plan.', changed(/$/, MOUNT_LINE)],
  ['The mounts at /srv/my shop/.git are not as planned.', changed(/^81 .*\n/m, '')],
  [
    'The mounts at /srv/my shop/.git are not as planned.',
    changed(/$/, MOUNT_LINE.replace('90 65', '90 81').replace('/extra', '/srv/my\\040shop/.git')),
  ],
  ['The mount at /srv/my shop/.git is hidden, so it does not hold.', changed(/^81 80 /m, '81 65 ')],
  ['/tmp is writable without nosuid.', changed('/tmp rw,nosuid,', '/tmp rw,')],
  ['/srv/my shop is writable without nodev.', changed('shop rw,nosuid,nodev,', 'shop rw,nosuid,')],
  ['/dev/null is writable without nosuid.', changed('/dev/null rw,nosuid,', '/dev/null rw,')],
  ['What the host mounts later would appear in /usr.', changed(/( \/usr ro\S*)/, '$1 master:1')],
  ['What the host mounts later would appear in /srv/my shop.', changed(/(shop rw\S*)/, '$1 shared:7 master:1')],
  ['What the host mounts later would appear in /.', changed(/( \/ ro\S*)/, '$1 shared:7')],
  ['/tmp is not of the planned size.', changed(/( \/tmp .*),size=1024k/, '$1')],
  ['/tmp is not of the planned size.', changed(/( \/tmp .*),size=1024k/, '$1,size=1028k')],
  ['/dev/shm is not of the planned size.', changed(/( \/dev\/shm .*),size=1024k/, '$1,size=1024m')],
  ['/home/tool is not of the planned size.', changed(/(tool .*),size=1024k/, '$1,size=4k')],
])('found and named, and nothing else: %s (%#)', (what, table) => {
  expect(sentencesIn(table)).toEqual([what]);
});

test.each([
  ['no size', changed(/( \/tmp .*),size=1024k/, '$1'), '1048576 bytes'],
  ['2048 KiB', changed(/( \/tmp .*),size=1024k/, '$1,size=2048k'), '1048576 bytes'],
  ['one that follows the host', changed(/( \/usr ro\S*)/, '$1 master:1'), 'a mount of its own'],
  ['writable', changed('/usr ro,', '/usr rw,'), 'read-only'],
  ['0 mounts', changed(/^81 .*\n/m, ''), '1 mount'],
])('a finding says that it found %s', (found, table, expected) => {
  expect(findingsIn(table)).toEqual([{ what: expect.any(String), expected, found }]);
});

test('no table is a difference where one is planned, and nothing is judged where none is', () => {
  expect(mountFindings(undefined, EXPECTED)).toEqual([
    { what: "The tool sees the host's mounts.", expected: 'a mount table of its own', found: "the host's" },
  ]);
  expect(mountFindings(parseMountinfo(changed(/( \/ ro\S*)/, '$1 shared:7')), undefined)).toEqual([]);
});

test.each([
  [1024 * 1024, true],
  [1024 * 1024 - 4095, true],
  [1024 * 1024 - 65_535, true],
  [1024 * 1024 - 65_536, false],
  [1024 * 1024 + 1, false],
])('a tmpfs of 1024 KiB is one of %s bytes, in whole pages: %s', (sizeBytes, same) => {
  const expected = EXPECTED.map((mount) => (mount.at === '/tmp' ? { ...mount, sizeBytes } : mount));
  expect(sentencesIn(TABLE, expected)).toEqual(same ? [] : ['/tmp is not of the planned size.']);
});

test('a stack of mounts that was planned is judged by its upper mount', () => {
  const stack = (options: string) => `${TABLE}90 78 0:99 / /tmp ${options},nosuid,nodev - tmpfs tmpfs rw\n`;
  const expected = [...EXPECTED, { at: '/tmp', writable: false }];
  expect(sentencesIn(stack('ro'), expected)).toEqual([]);
  expect(sentencesIn(stack('rw'), expected)).toEqual(['/tmp is writable although it must not be.']);
});

test('what is hidden is found in a table whose places are those of one before that was as planned', () => {
  const hidden = changed(/^81 80 /m, '81 65 ');
  const places = (table: string) => parseMountinfo(table).map(({ at }) => at);
  expect(places(hidden)).toEqual(places(TABLE));

  expect(findingsIn(TABLE)).toEqual([]);
  expect(sentencesIn(hidden)).toEqual(['The mount at /srv/my shop/.git is hidden, so it does not hold.']);
  expect(findingsIn(TABLE)).toEqual([]);
});

test('a way that was known for other places is not taken for these', () => {
  const [nearer, farther] = ['/a/b', '/a/c'].map((between) =>
    [
      '1 9 0:1 / / ro,nosuid - tmpfs tmpfs ro',
      '2 1 0:2 / /a ro,nosuid - tmpfs tmpfs ro',
      `3 2 0:3 / ${between} ro,nosuid - tmpfs tmpfs ro`,
      '4 2 0:4 / /a/b/mask ro,nosuid - tmpfs tmpfs ro',
      '',
    ].join('\n'),
  );
  const planned = (between: string) => ['/', '/a', between, '/a/b/mask'].map((at) => ({ at, writable: false }));
  for (let again = 0; again < 2; again += 1) {
    expect(findingsIn(farther ?? '', planned('/a/c'))).toEqual([]);
    expect(findingsIn(nearer ?? '', planned('/a/b'))).toEqual([
      {
        what: 'The mount at /a/b/mask is hidden, so it does not hold.',
        expected: 'within reach',
        found: 'covered at /a/b',
      },
    ]);
  }
});

test('what is mounted on the lower mount of a stack is hidden', () => {
  const table = `${TABLE}90 80 0:99 / /srv/my\\040shop rw,nosuid,nodev - tmpfs tmpfs rw\n`;
  const expected = [...EXPECTED, { at: '/srv/my shop', writable: true }];
  expect(sentencesIn(table, expected)).toEqual(['The mount at /srv/my shop/.git is hidden, so it does not hold.']);
});

test.each([
  ['a part of another', '/srv/my shop/.git', '/srv/my shop', []],
  ['something else', '/usr', '/srv/my shop', ['The mount at /usr shows something from elsewhere.']],
  ['something of another file system', '/tmp', '/usr', ['The mount at /tmp shows something from elsewhere.']],
])('a mount that should show a part of another one and shows %s', (_, at, within, sentences) => {
  const expected = EXPECTED.map((wish) => (wish.at === at ? { ...wish, within } : wish));
  expect(sentencesIn(TABLE, expected)).toEqual(sentences);
});
