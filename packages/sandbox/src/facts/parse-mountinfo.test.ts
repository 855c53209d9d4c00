import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isWritable, parseMountinfo } from './parse-mountinfo.ts';

const LINE = '36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 shared:2 - ext3 /dev/root ro,errors=continue';

test('a line is read, and of its optional fields whether it follows the host', () => {
  expect(parseMountinfo(`${LINE}\n`)).toEqual([
    {
      id: 36,
      parentId: 35,
      device: '98:0',
      root: '/mnt1',
      at: '/mnt2',
      options: ['rw', 'noatime'],
      fsType: 'ext3',
      superOptions: ['ro', 'errors=continue'],
      followsHost: true,
      spelled: '["/mnt2","/mnt1","ext3",["noatime","rw"],["errors=continue","ro"]]',
    },
  ]);
});

test('of a text that was read before only the numbers are read again', () => {
  const [before] = parseMountinfo(`${LINE}\n`);
  const [later] = parseMountinfo(`${LINE.replace('36 35 98:0', '41 40 98:7').replace('master:1', 'master:9')}\n`);
  expect(later).toEqual({ ...before, id: 41, parentId: 40, device: '98:7' });
  expect(() => parseMountinfo(`${LINE.replace('36 35', '36 x')}\n`)).toThrow('a number is malformed');
});

test.each([
  ['rw', 'rw', true],
  ['ro', 'rw', false],
  ['rw', 'ro', false],
  ['ro', 'ro', false],
  ['ro,rw', 'rw', false],
])('a mount with %s on a file system with %s is writable: %s', (options, superOptions, writable) => {
  const [mount] = parseMountinfo(`1 0 0:1 / / ${options} - tmpfs tmpfs ${superOptions}\n`);
  expect(mount && isWritable(mount)).toBe(writable);
});

test.each([
  ['', false],
  ['master:1 ', true],
  ['shared:2 ', true],
  ['shared:2 master:1 propagate_from:3 ', true],
  ['unbindable ', false],
])('a mount with the optional fields "%s" follows the host: %s', (fields, followsHost) => {
  expect(parseMountinfo(`1 0 0:1 / /a rw ${fields}- tmpfs tmpfs rw\n`)).toEqual([
    expect.objectContaining({ followsHost }),
  ]);
});

test('what looks like such a field elsewhere is none', () => {
  const [mount] = parseMountinfo('1 0 0:1 /master:1 /shared:2 rw - tmpfs master:1 rw,shared:2\n');
  expect(mount?.followsHost).toBe(false);
});

test('a file system without a source is read', () => {
  expect(parseMountinfo('1 0 0:1 / /a rw - tmpfs  rw\n')).toHaveLength(1);
});

test.each([
  ['', 'it is empty'],
  [LINE, 'its last line is cut off'],
  [`${LINE}\n\n`, 'a line is malformed'],
  [`${LINE.replace(' - ', ' ')}\n`, 'a line is malformed'],
  [`${LINE.replace('98:0', '98')}\n`, 'a line is malformed'],
  [`${LINE.replace('/mnt2', 'mnt2')}\n`, 'a line is malformed'],
  [`${LINE} more\n`, 'a line is malformed'],
  [`${LINE.replace('master:1', 'Master')}\n`, 'a line is malformed'],
  [`${LINE.replace('36', '-1')}\n`, 'a number is malformed'],
  [`${LINE.replace('rw,', '')}\n`, 'a line says neither ro nor rw'],
  [`${LINE.replace('ro,errors=continue', 'errors=continue,ro')}\n`, 'a line says neither ro nor rw'],
  [`${LINE.replace('/mnt2', '/mnt\\2')}\n`, 'an escape is malformed'],
  [`${LINE.replace('/mnt2', '/mnt\\377')}\n`, 'an escape is malformed'],
  [`${LINE.replace('/mnt2', '/mnt\\000')}\n`, 'an escape is malformed'],
  [`${LINE}\n${LINE}\n`, 'a mount is there twice'],
])('a table that is not the kernel’s is refused (%#)', (text, detail) => {
  expect(() => parseMountinfo(text)).toThrow(
    expect.objectContaining({
      code: 'sandbox.enforcement_failed',
      message: `What the kernel says in mountinfo cannot be read: ${detail}.`,
    }),
  );
});

test('any name survives the kernel’s escapes', () => {
  const escaped = (name: string) =>
    name.replace(/[ \t\n\\#]/g, (character) => `\\${character.charCodeAt(0).toString(8).padStart(3, '0')}`);
  const segment = fc.oneof(fc.string({ minLength: 1 }), fc.constantFrom('a b', '\\040', '#', ' - ', 'x\ny', '\t'));
  fc.assert(
    fc.property(segment, (name) => {
      const [mount] = parseMountinfo(`1 0 0:1 / /${escaped(name)} rw - tmpfs tmpfs rw\n`);
      expect(mount?.at).toBe(`/${name}`);
    }),
  );
});
