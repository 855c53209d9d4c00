import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { SandboxError } from '../sandbox-error.ts';
import { parseMountinfo } from './parse-mountinfo.ts';
import { parseCgroups, parseInterfaces, parseIpv6Routes, parseLimits, parseRoutes, parseStatus } from './parse-proc.ts';
import type { RawFacts } from './raw-facts.ts';

const CAPTURED = readFileSync(new URL('../../../../tests/vectors/sandbox/raw-facts.json', import.meta.url), 'utf8');

const { inside, outside } = JSON.parse(CAPTURED) as RawFacts;
const CGROUP = outside[0]?.cgroup ?? '';
const NONE = '0'.repeat(16);
const ROUTE = 'eth0\t00000000\t0100000A\t0003\t0\t0\t0\t00000000\t0\t0\t0';

function refusal(text: string, detail: string): unknown {
  return expect.objectContaining({
    code: 'sandbox.enforcement_failed',
    message: `What the kernel says in ${text} cannot be read: ${detail}.`,
  });
}

test('a status is read', () => {
  expect(parseStatus(inside.status)).toEqual({
    parentPid: 1,
    pids: [2],
    threads: 1,
    uids: [65_534, 65_534, 65_534, 65_534],
    gids: [65_534, 65_534, 65_534, 65_534],
    groups: [],
    capabilities: { inheritable: NONE, permitted: NONE, effective: NONE, bounding: NONE, ambient: NONE },
    noNewPrivileges: true,
    seccomp: 2,
    seccompFilters: 1,
  });
});

test('a status is read the same whatever the order was of the one before', () => {
  const lines = inside.status.trimEnd().split('\n');
  const asText = (some: readonly string[]) => `${some.join('\n')}\n`;
  const outcome = (text: string) => {
    try {
      return parseStatus(text);
    } catch (error) {
      return String(error);
    }
  };
  fc.assert(
    fc.property(fc.shuffledSubarray(lines), fc.subarray(lines), fc.nat(lines.length), (before, some, twice) => {
      const texts = [inside.status, asText(some), asText([...lines, ...lines.slice(twice)])];
      const first = texts.map(outcome);
      const again = texts.map((text) => {
        outcome(asText(before));
        return outcome(text);
      });
      expect(again).toEqual(first);
      expect(first[0]).toMatchObject({ seccomp: 2 });
    }),
  );
});

test('a process cannot name itself into another field', () => {
  const text = inside.status.replace(/^Name:.*$/m, 'Name:\tx\\nSeccomp:\t0');
  expect(parseStatus(text).seccomp).toBe(2);
});

test.each([
  [/^Uid:.*$/m, 'Uid:\t1\t1\t1', 'status, Uid', 'it has 3 values instead of 4'],
  [/^Uid:.*$/m, 'Uid:\t1\t1\t1\t-1', 'status, Uid', 'a number is malformed'],
  [/^Uid:.*$/m, 'Uid:\t1\t1\t1\t0x1', 'status, Uid', 'a number is malformed'],
  [/^Seccomp:.*$/m, 'Seccomp:', 'status, Seccomp', 'it has 0 values instead of 1'],
  [/^Seccomp:.*$/m, 'Seccomp:\t2\nSeccomp:\t2', 'status', 'Seccomp is there twice'],
  [/^Seccomp:.*$/m, 'seccomp:\t2', 'status', 'Seccomp is missing'],
  [/^Seccomp:.*$/m, 'Seccomp\t2', 'status', 'a line is malformed'],
  [/^NoNewPrivs:.*$/m, 'NoNewPrivs:\t2', 'status, NoNewPrivs', 'it is neither 0 nor 1'],
  [/^CapEff:.*$/m, 'CapEff:\t0', 'status, CapEff', 'it is no set of capabilities'],
  [/^NSpid:.*$/m, 'NSpid:\t', 'status, NSpid', 'it is empty'],
  [/^Groups:.*$/m, 'Groups:\tnone', 'status, Groups', 'a number is malformed'],
  [/\n$/, '', 'status', 'its last line is cut off'],
])('a status with a wrong field is refused (%#)', (from, to, text, detail) => {
  expect(() => parseStatus(inside.status.replace(from, to))).toThrow(refusal(text, detail));
});

test('limits are read by the names of setrlimit(2)', () => {
  const limits = parseLimits(inside.limits);
  expect(limits.size).toBe(16);
  expect(limits.get('cpu')).toEqual({ soft: 600, hard: 605 });
  expect(limits.get('stack')).toEqual({ soft: 8_388_608, hard: Number.POSITIVE_INFINITY });
  expect(limits.get('nice')).toEqual({ soft: 0, hard: 0 });
});

test.each([
  [/^Limit.*\n/, '', 'limits', 'its header differs'],
  [/^Max open files.*\n/m, '', 'limits, nofile', 'it is missing'],
  [/^(Max open files.*\n)/m, '$1$1', 'limits, nofile', 'it is there twice'],
  [/^(Max open files +)4096/m, '$1many', 'limits, nofile', 'a number is malformed'],
  [/^Max open files.*\n/m, 'Max open files 4096\n', 'limits', 'a row is malformed'],
])('limits with a wrong row are refused (%#)', (from, to, text, detail) => {
  expect(() => parseLimits(inside.limits.replace(from, to))).toThrow(refusal(text, detail));
});

test('routes and interfaces are read', () => {
  expect(parseRoutes(inside.route)).toEqual([]);
  expect(parseRoutes(`${inside.route}${ROUTE}      \n`)).toEqual(['eth0']);
  expect(new Set(parseIpv6Routes(inside.ipv6Route))).toEqual(new Set(['lo']));
  expect(parseIpv6Routes('')).toEqual([]);
  expect(parseInterfaces(inside.netDev)).toEqual(['lo']);
});

test('routes and interfaces that are malformed are refused', () => {
  expect(() => parseRoutes('')).toThrow(refusal('net/route', 'it is empty'));
  expect(() => parseRoutes(`${ROUTE}\n`)).toThrow(refusal('net/route', 'its header differs'));
  expect(() => parseRoutes(`${inside.route}eth0\n`)).toThrow(refusal('net/route', 'a row is malformed'));
  expect(() => parseIpv6Routes('lo\n')).toThrow(refusal('net/ipv6_route', 'a row is malformed'));
  expect(() => parseInterfaces(`${inside.netDev}eth0\n`)).toThrow(refusal('net/dev', 'a row is malformed'));
  expect(() => parseInterfaces('lo: 0\n')).toThrow(refusal('net/dev', 'its header differs'));
  const twice = inside.netDev.replace(/^( +lo:.*\n)/m, '$1$1');
  expect(() => parseInterfaces(twice)).toThrow(refusal('net/dev', 'an interface is there twice'));
});

test('cgroups of both versions are read', () => {
  expect(parseCgroups('9:name=systemd:/\n4:cpu,cpuacct:/a:b\n0::/palyra-1\n')).toEqual([
    { hierarchy: 9, controllers: ['name=systemd'], path: '/' },
    { hierarchy: 4, controllers: ['cpu', 'cpuacct'], path: '/a:b' },
    { hierarchy: 0, controllers: [], path: '/palyra-1' },
  ]);
});

test.each([
  ['', 'it is empty'],
  ['0::palyra\n', 'a line is malformed'],
  ['memory:/palyra\n', 'a line is malformed'],
  ['0::/a\rb\n', 'a line is malformed'],
  ['01:memory:/\n', 'a number is malformed'],
  ['0:memory:/\n', 'a hierarchy has no name'],
  ['3::/\n', 'a hierarchy has no name'],
  ['0::/a\n0::/b\n', 'a hierarchy is there twice'],
  ['4:memory:/a\n5:memory:/b\n', 'a hierarchy is there twice'],
])('cgroups that are malformed are refused (%#)', (text, detail) => {
  expect(() => parseCgroups(text)).toThrow(refusal('cgroup', detail));
});

describe('every parser', () => {
  const parsers = [
    [parseStatus, inside.status],
    [parseLimits, inside.limits],
    [parseMountinfo, inside.mountinfo],
    [parseRoutes, inside.route],
    [parseIpv6Routes, inside.ipv6Route],
    [parseInterfaces, inside.netDev],
    [parseCgroups, CGROUP],
  ] as const;

  function outcome(parse: () => unknown): unknown {
    try {
      parse();
      return 'read';
    } catch (error) {
      return error instanceof SandboxError ? error.code : error;
    }
  }

  test('answers any damage with a value or the one refusal', () => {
    const damage = fc.record({
      parser: fc.constantFrom(...parsers),
      at: fc.double({ min: 0, max: 1, noNaN: true }),
      cut: fc.nat(40),
      put: fc.string({ unit: 'binary' }),
    });
    fc.assert(
      fc.property(damage, ({ parser: [parse, text], at, cut, put }) => {
        const start = Math.floor(at * text.length);
        const damaged = text.slice(0, start) + put + text.slice(start + cut);
        expect(['read', 'sandbox.enforcement_failed']).toContain(outcome(() => parse(damaged)));
      }),
      { numRuns: 1000 },
    );
  });

  test.each(parsers)('refuses a text that is cut off inside a line (%#)', (parse, text) => {
    fc.assert(
      fc.property(fc.nat(text.length - 1), (end) => {
        fc.pre(end > 0 && text[end - 1] !== '\n');
        expect(() => parse(text.slice(0, end))).toThrow(SandboxError);
      }),
    );
  });
});
