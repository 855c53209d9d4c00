import { isIPv4, isIPv6 } from 'node:net';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { canonicalHost, isMalformed } from './canonical-host.ts';

const hostOf = (written: string): string => {
  const host = canonicalHost(written);
  return isMalformed(host) ? `!${host.fault}` : `${host.kind} ${host.host}`;
};

test('every spelling of a host comes out as one', () => {
  for (const written of [
    'example.com',
    'EXAMPLE.com',
    'example.com.',
    'ｅｘａｍｐｌｅ.com',
    'exa\u00admple.com',
    'example。com',
  ]) {
    expect([written, hostOf(written)]).toEqual([written, 'name example.com']);
  }
  for (const written of [
    'bücher.example',
    'BÜCHER.example',
    'xn--bcher-kva.example',
    'XN--BCHER-KVA.EXAMPLE.',
    'bu\u0308cher.example',
  ]) {
    expect([written, hostOf(written)]).toEqual([written, 'name xn--bcher-kva.example']);
  }
});

test('an address is one address, however it is written', () => {
  const spellings = [
    '127.0.0.1',
    '127.0.0.1.',
    '2130706433',
    '017700000001',
    '0x7f000001',
    '0X7F.0.0.1',
    '0177.0.0.1',
    '127.1',
    '127.0.1',
    '１２７.0.0.1',
    '127。0。0。1',
    '[::ffff:127.0.0.1]',
    '::ffff:127.0.0.1',
    '[::FFFF:7f00:1]',
    '[0:0:0:0:0:ffff:7f00:0001]',
  ];
  for (const written of spellings) expect([written, hostOf(written)]).toEqual([written, 'ipv4 127.0.0.1']);
  for (const written of ['::1', '[::1]', '[0:0:0:0:0:0:0:1]', '0000::0001', '[::0.0.0.1]']) {
    expect([written, hostOf(written)]).toEqual([written, 'ipv6 ::1']);
  }
});

test.each([
  ['', '!empty'],
  ['a'.repeat(2_000), '!too_long'],
  [`${'a.'.repeat(127)}example`, '!too_long'],
  ['fe80::1%eth0', '!zone_id'],
  ['[fe80::1%25eth0]', '!zone_id'],
  ['exa%6dple.com', '!forbidden_character'],
  ['%31%32%37.0.0.1', '!forbidden_character'],
  ['user@example.com', '!forbidden_character'],
  ['example.com/x', '!forbidden_character'],
  ['example.com\\@evil.example', '!forbidden_character'],
  ['example.com\r\nHost: evil', '!forbidden_character'],
  ['example.com\0', '!forbidden_character'],
  ['exa mple.com', '!forbidden_character'],
  ['example.com:80', '!forbidden_character'],
  ['*.example.com', '!forbidden_character'],
  ['a..example', '!bad_label'],
  ['.example', '!bad_label'],
  ['.', '!bad_label'],
  ['-a.example', '!bad_label'],
  ['a-.example', '!bad_label'],
  [`${'a'.repeat(64)}.example`, '!bad_label'],
  ['xn--a.example', '!bad_label'],
  ['xn--zzzz--.example', '!bad_label'],
  ['example.com..', '!bad_label'],
  ['1.2.3.4.5', '!bad_address'],
  ['256.1.1.1', '!bad_address'],
  ['4294967296', '!bad_address'],
  ['example.0x4', '!bad_label'],
  ['[::1', '!forbidden_character'],
  ['[1.2.3.4]', '!bad_address'],
  ['[::1]]', '!bad_address'],
])('%j is no host', (written, fault) => {
  expect(hostOf(written)).toBe(fault);
});

/** Whatever it is that was written, what comes out stays what it is, and is safe to put into a head or a log. */
test('what comes out comes out again', () => {
  const alphabet = fc.constantFrom(...Array.from('abcXYZ019.-_:[]%@/\\ xnｅ。१üß\u200d\u00ad0x'));
  const written = fc.oneof(
    fc.string(),
    fc.string({ unit: alphabet }),
    fc.domain(),
    fc.ipV4(),
    fc.ipV4Extended(),
    fc.ipV6(),
  );
  fc.assert(
    fc.property(written, (text) => {
      const host = canonicalHost(text);
      if (isMalformed(host)) return;
      expect(canonicalHost(host.host)).toEqual({ ...host, isRewritten: false });
      expect(host.host).toMatch(/^[a-z0-9._:-]{1,253}$/);
      expect([isIPv4(host.host), isIPv6(host.host)]).toEqual([host.kind === 'ipv4', host.kind === 'ipv6']);
      expect(host.isRewritten).toBe(host.host !== text && `[${host.host}]` !== text);
    }),
    { numRuns: 3_000 },
  );
});

test('all spellings of an IPv4 address mean that address', () => {
  const spelled = fc.constantFrom(
    (parts: readonly number[]) => parts.join('.'),
    (parts: readonly number[]) => parts.map((part) => `0x${part.toString(16)}`).join('.'),
    (parts: readonly number[]) => parts.map((part) => `0${part.toString(8)}`).join('.'),
    (parts: readonly number[]) => String(parts.reduce((sum, part) => sum * 256 + part, 0)),
    (parts: readonly number[]) => `0x${parts.reduce((sum, part) => sum * 256 + part, 0).toString(16)}`,
    ([a = 0, b = 0, c = 0, d = 0]: readonly number[]) => `${a}.${b * 65_536 + c * 256 + d}`,
    ([a = 0, b = 0, c = 0, d = 0]: readonly number[]) => `${a}.${b}.${c * 256 + d}.`,
    (parts: readonly number[]) => `[::ffff:${parts.join('.')}]`,
  );
  fc.assert(
    fc.property(fc.tuple(fc.nat(255), fc.nat(255), fc.nat(255), fc.nat(255)), spelled, (parts, spell) => {
      expect(hostOf(spell(parts))).toBe(`ipv4 ${parts.join('.')}`);
    }),
  );
});
