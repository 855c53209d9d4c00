// T-44: a mask or a read-only mount is there, and something mounted over it, or over what it lies in, undoes it.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { mountFindings } from '../../packages/sandbox/src/facts/compare-mounts.ts';
import { isWritable, parseMountinfo } from '../../packages/sandbox/src/facts/parse-mountinfo.ts';

const table = (JSON.parse(readFileSync('tests/vectors/sandbox/raw-facts.json', 'utf8')) as Fixture).inside.mountinfo;
interface Fixture {
  readonly inside: { readonly mountinfo: string };
}

const lines = table.trim().split('\n');
const ids = lines.map((line) => Number(line.split(' ')[0]));
const nextId = Math.max(...ids) + 1;
const pathOf = (line: string) => line.split(' ')[4] ?? '';
const expected = parseMountinfo(table).map((mount) => ({ at: mount.at, writable: isWritable(mount) }));
const usr = lines.find((line) => pathOf(line) === '/usr') ?? '';
const mountedOn = (parent: string, at: string) =>
  `${nextId} ${parent.split(' ')[0]} 0:99 / ${at} rw,nosuid,nodev - tmpfs tmpfs rw`;
const findingsFor = (text: readonly string[]) => mountFindings(parseMountinfo(`${text.join('\n')}\n`), expected);

test('the table as it was captured has nothing that differs', () => {
  expect(findingsFor(lines)).toEqual([]);
});

test('a mount on top of a planned one is found', () => {
  expect(findingsFor([...lines, mountedOn(usr, '/usr')])).not.toEqual([]);
});

test('a mount over a directory above a planned one is found', () => {
  const root = lines.find((line) => pathOf(line) === '/') ?? '';
  expect(findingsFor([...lines, mountedOn(root, '/dev')])).not.toEqual([]);
});

test('a planned mount that has become writable is found', () => {
  const changed = lines.map((line) => (line === usr ? line.replace(/ ro,/, ' rw,').replace(/ ro$/, ' rw') : line));
  expect(changed).not.toEqual(lines);
  expect(findingsFor(changed).map(({ what }) => what)).toEqual([expect.stringContaining('/usr is writable')]);
});

test('a planned mount that is gone is found', () => {
  expect(findingsFor(lines.filter((line) => line !== usr))).not.toEqual([]);
});
