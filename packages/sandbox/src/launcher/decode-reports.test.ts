import fc from 'fast-check';
import { expect, test } from 'vitest';
import { SandboxError } from '../sandbox-error.ts';
import { decodeEnd, decodeFacts } from './decode-reports.ts';
import { ENDED_ITEM, encodeItems, FACTS_ITEM, type Item, REASONS } from './wire.ts';

const MALFORMED = 'The launcher said something that is not in its language.';

function named(tag: number, name: string, text: string): Item {
  return { tag, bytes: Buffer.from(`${name}\0${text}`) };
}

function number(tag: number, value: number): Item {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return { tag, bytes };
}

const FACTS: readonly Item[] = [
  named(FACTS_ITEM.inside, 'status', 'Name: inside'),
  named(FACTS_ITEM.inside, 'limits', 'Limits'),
  named(FACTS_ITEM.inside, 'ns/user', 'user:[1]'),
  named(FACTS_ITEM.inside, 'mountinfo', 'mounts'),
  named(FACTS_ITEM.inside, 'net/route', 'route'),
  named(FACTS_ITEM.inside, 'net/ipv6_route', 'route 6'),
  named(FACTS_ITEM.inside, 'net/dev', 'dev'),
  named(FACTS_ITEM.inside, 'bound/srv/my shop', '65024 4711'),
  named(FACTS_ITEM.inside, 'bound/srv/my shop/.git', '65024 4712'),
  number(FACTS_ITEM.outsideProcess, 41),
  named(FACTS_ITEM.outside, 'status', 'Name: tool'),
  named(FACTS_ITEM.outside, 'limits', 'Limits of the tool'),
  named(FACTS_ITEM.outside, 'cgroup', '1:pids:/a'),
  named(FACTS_ITEM.outside, 'ns/net', 'net:[2]'),
  number(FACTS_ITEM.outsideProcess, 40),
  named(FACTS_ITEM.outside, 'status', 'Name: init'),
  named(FACTS_ITEM.outside, 'limits', 'Limits of init'),
  named(FACTS_ITEM.hostNamespace, 'ns/user', 'user:[9]'),
  named(FACTS_ITEM.cgroupFile, '/sys/fs/cgroup/palyra-1/pids.max', '8\n'),
  number(FACTS_ITEM.landlockRules, 3),
  { tag: FACTS_ITEM.listener, bytes: Buffer.from('127.0.0.1:3128 net:[2]') },
];

test('facts are sorted by where they were read', () => {
  expect(decodeFacts(encodeItems(FACTS))).toEqual({
    inside: {
      status: 'Name: inside',
      limits: 'Limits',
      mountinfo: 'mounts',
      route: 'route',
      ipv6Route: 'route 6',
      netDev: 'dev',
      namespaces: { user: 'user:[1]' },
      bound: { '/srv/my shop': '65024 4711', '/srv/my shop/.git': '65024 4712' },
    },
    outside: [
      {
        pid: 41,
        status: 'Name: tool',
        limits: 'Limits of the tool',
        cgroup: '1:pids:/a',
        namespaces: { net: 'net:[2]' },
      },
      { pid: 40, status: 'Name: init', limits: 'Limits of init', cgroup: '', namespaces: {} },
    ],
    hostNamespaces: { user: 'user:[9]' },
    cgroupFiles: { '/sys/fs/cgroup/palyra-1/pids.max': '8\n' },
    landlockRules: 3,
    listener: '127.0.0.1:3128 net:[2]',
  });
});

test('no text is lost for the sake of its name', () => {
  const names = ['__proto__', 'constructor', 'toString'];
  const items = names.flatMap((name) => [
    named(FACTS_ITEM.inside, `ns/${name}`, 'ns'),
    named(FACTS_ITEM.cgroupFile, name, 'file'),
  ]);
  const { inside, cgroupFiles } = decodeFacts(encodeItems(items));
  expect(Object.keys(inside.namespaces)).toEqual(names);
  expect(Object.keys(cgroupFiles)).toEqual(names);
});

test('what was not told is empty, for the reader of the facts to refuse', () => {
  expect(decodeFacts(encodeItems([number(FACTS_ITEM.outsideProcess, 41)]))).toEqual({
    inside: {
      status: '',
      limits: '',
      mountinfo: '',
      route: '',
      ipv6Route: '',
      netDev: '',
      namespaces: {},
      bound: {},
    },
    outside: [{ pid: 41, status: '', limits: '', cgroup: '', namespaces: {} }],
    hostNamespaces: {},
    cgroupFiles: {},
    landlockRules: 0,
    listener: undefined,
  });
});

test.each([
  ['a fact from outside of no process', [named(FACTS_ITEM.outside, 'status', 'x')]],
  ['the same fact twice', [named(FACTS_ITEM.inside, 'status', 'a'), named(FACTS_ITEM.inside, 'status', 'b')]],
  ['the same path twice', [named(FACTS_ITEM.inside, 'bound/a', '1 2'), named(FACTS_ITEM.inside, 'bound/a', '1 3')]],
  ['a fact without a name', [{ tag: FACTS_ITEM.inside, bytes: Buffer.from('status') }]],
  ['a pid of three bytes', [{ tag: FACTS_ITEM.outsideProcess, bytes: Buffer.alloc(3) }]],
  ['two listeners', [1, 2].map(() => ({ tag: FACTS_ITEM.listener, bytes: Buffer.from('x') }))],
  ['an unknown fact', [named(77, 'status', 'x')]],
] as const)('%s is not in the language', (_, items) => {
  expect(faultOf(() => decodeFacts(encodeItems(items)))).toEqual(['sandbox.launcher_failed', MALFORMED]);
});

interface Status {
  readonly code?: number;
  readonly signal?: number;
  readonly exact?: number;
  readonly reason?: number;
}

function status({ code = 0, signal = 0, exact = 1, reason = 0 }: Status): Item {
  const bytes = Buffer.alloc(10);
  bytes.writeUInt32LE(code, 0);
  bytes.writeUInt32LE(signal, 4);
  bytes.set([exact, reason], 8);
  return { tag: ENDED_ITEM.status, bytes };
}

function usage(...values: readonly number[]): Item {
  const bytes = Buffer.alloc(values.length * 8);
  for (const [at, value] of values.entries()) bytes.writeBigUInt64LE(BigInt(value), at * 8);
  return { tag: ENDED_ITEM.usage, bytes };
}

const USAGE = usage(1500, 2500, 4096, 3_000_000, 77);

test('the end says how, why and at what cost', () => {
  const items = [
    status({ code: 3, reason: REASONS.indexOf('idle') }),
    USAGE,
    named(ENDED_ITEM.cgroupFile, '/sys/fs/cgroup/palyra-1/pids.events', 'max 1\n'),
    { tag: ENDED_ITEM.started, bytes: Buffer.of(1) },
    { tag: ENDED_ITEM.full, bytes: Buffer.of(0) },
  ];
  expect(decodeEnd(encodeItems(items))).toEqual({
    exitCode: 3,
    signal: 0,
    exact: true,
    reason: 'idle',
    started: true,
    full: false,
    userMs: 1.5,
    systemMs: 2.5,
    maxRssBytes: 4096,
    wallMs: 3000,
    outputBytes: 77,
    cgroupFiles: { '/sys/fs/cgroup/palyra-1/pids.events': 'max 1\n' },
  });
});

test.each([
  ['an end without a status', [USAGE]],
  ['an end without its cost', [status({})]],
  ['a cost with a number missing', [status({}), usage(1, 2, 3, 4)]],
  ['a status that is too short', [{ tag: ENDED_ITEM.status, bytes: Buffer.alloc(9) }, USAGE]],
  ['an unknown reason', [status({ reason: REASONS.length }), USAGE]],
  ['an unknown item', [status({}), USAGE, { tag: 99, bytes: Buffer.alloc(0) }]],
] as const)('%s is not in the language', (_, items) => {
  expect(faultOf(() => decodeEnd(encodeItems(items)))).toEqual(['sandbox.launcher_failed', MALFORMED]);
});

test('whatever arrives, there is a report or that one fault', () => {
  const tags = fc.integer({ min: 0, max: 8 });
  const items = fc.array(
    fc.record({ tag: tags, bytes: fc.uint8Array({ maxLength: 50 }).map((array) => Buffer.from(array)) }),
  );
  const payloads = fc.oneof(
    items.map(encodeItems),
    fc.uint8Array().map((array) => Buffer.from(array)),
  );
  fc.assert(
    fc.property(payloads, (payload) => {
      for (const decode of [decodeFacts, decodeEnd]) {
        const theOne = ['sandbox.launcher_failed', MALFORMED];
        expect(faultOf(() => decode(payload)) ?? theOne).toEqual(theOne);
      }
    }),
  );
});

function faultOf(act: () => unknown): readonly [string, string] | undefined {
  try {
    act();
    return undefined;
  } catch (error) {
    if (!(error instanceof SandboxError)) throw error;
    return [error.code, error.message];
  }
}
