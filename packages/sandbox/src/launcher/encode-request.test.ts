import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { LaunchPlan, RlimitName } from '../launch-plan.ts';
import { encodeGate, encodeRequest, encodeTool, encodeWord, terminalSize } from './encode-request.ts';
import { decodeItems, START_ITEM } from './wire.ts';

const PLAN: LaunchPlan = {
  executor: 'test',
  enforcement: { fileSystem: 'host', network: 'host' },
  wrapper: undefined,
  tool: { path: '/bin/echo', argv: ['echo', 'ä'], environment: ['A=1'], cwd: '/tmp', terminal: undefined },
  identity: undefined,
  staged: [],
  rlimits: [],
  tmpfs: [],
  cgroups: [],
  data: [],
  filter: undefined,
  landlock: undefined,
  listener: false,
  watch: { wallMs: 1, idleMs: 2, outputBytes: 3, treeCpuMs: undefined, cpuCounter: undefined },
  expected: {
    identity: undefined,
    noGroups: false,
    namespaces: [],
    seccomp: false,
    noCapabilities: true,
    isolatedNetwork: false,
    rlimits: [],
    mounts: undefined,
    cgroups: [],
    landlock: false,
    listener: false,
    bound: [],
  },
};

/** Tag and bytes, of everything but what `PLAN` has already. */
function added(plan: Partial<LaunchPlan>, stdin = false): readonly (readonly [number, string])[] {
  const usual = itemsOf(PLAN, false).map(([tag, hex]) => `${tag} ${hex}`);
  return itemsOf({ ...PLAN, ...plan }, stdin).filter(([tag, hex]) => !usual.includes(`${tag} ${hex}`));
}

function itemsOf(plan: LaunchPlan, stdin: boolean): readonly (readonly [number, string])[] {
  return (decodeItems(encodeRequest(plan, { stdin })) ?? []).map(({ tag, bytes }) => [tag, bytes.toString('hex')]);
}

const hex = (text: string) => Buffer.from(text).toString('hex');
const u64 = (value: number) => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes.toString('hex');
};

test('the least request: what to run, where, and what is watched', () => {
  expect(itemsOf(PLAN, false)).toEqual([
    [START_ITEM.toolPath, hex('/bin/echo')],
    [START_ITEM.toolArgument, hex('echo')],
    [START_ITEM.toolArgument, hex('ä')],
    [START_ITEM.toolVariable, hex('A=1')],
    [START_ITEM.cwd, hex('/tmp')],
    [START_ITEM.watch, `${u64(1)}${u64(2)}${u64(3)}${u64(0)}`],
  ]);
});

test('the facts that are expected are not told: who reads them does not judge them', () => {
  const expected = { ...PLAN.expected, seccomp: true, landlock: true, mounts: [{ at: '/', writable: false }] };
  expect(encodeRequest({ ...PLAN, expected }, { stdin: false })).toEqual(encodeRequest(PLAN, { stdin: false }));
});

test('input, identity, terminal and tmpfs', () => {
  expect(added({}, true)).toEqual([[START_ITEM.stdin, '']]);
  expect(added({ identity: { uid: 0x01020304, gid: 5 } })).toEqual([[START_ITEM.identity, '0403020105000000']]);
  expect(added({ tool: { ...PLAN.tool, terminal: { rows: 24, columns: 80 } } })).toEqual([
    [START_ITEM.terminal, '18005000'],
  ]);
  expect(added({ tmpfs: ['/tmp', '/dev/shm'] })).toEqual([
    [START_ITEM.tmpfs, hex('/tmp')],
    [START_ITEM.tmpfs, hex('/dev/shm')],
  ]);
  expect(terminalSize(1, 2)).toEqual(Buffer.from([1, 0, 2, 0]));
});

test('what is staged says how', () => {
  const mount = { name: '0', source: '/srv' };
  const flags = [
    [false, false, '00'],
    [true, false, '01'],
    [false, true, '02'],
    [true, true, '03'],
  ] as const;
  for (const [readOnly, idmap, flag] of flags) {
    expect(added({ staged: [{ ...mount, readOnly, idmap }] })).toEqual([
      [START_ITEM.staged, `${flag}${hex('0\0/srv')}`],
    ]);
  }
});

test('settings and counters follow the cgroup that they belong to', () => {
  const cgroups = ['a', 'b'].map((name) => ({
    directory: `/sys/fs/cgroup/palyra-${name}`,
    settings: [{ file: 'pids.max', value: '8' }],
    counters: ['pids.events'],
  }));
  expect(added({ cgroups })).toEqual(
    ['a', 'b'].flatMap((name) => [
      [START_ITEM.cgroup, hex(`/sys/fs/cgroup/palyra-${name}`)],
      [START_ITEM.cgroupSetting, hex('pids.max\x008')],
      [START_ITEM.cgroupCounter, hex('pids.events')],
    ]),
  );
});

test('data, Landlock rules with their stamp, and counters of CPU time', () => {
  expect(added({ data: [{ fd: 10, bytes: Buffer.from('x') }] })).toEqual([[START_ITEM.data, `0a000000${hex('x')}`]]);
  const rules = [
    { path: '/usr', access: 'read' },
    { path: '/srv', access: 'write' },
  ] as const;
  expect(added({ landlock: { stamp: 's', rules } })).toEqual([
    [START_ITEM.landlockStamp, hex('s')],
    [START_ITEM.landlockRule, `00${hex('/usr')}`],
    [START_ITEM.landlockRule, `01${hex('/srv')}`],
  ]);
  const counter = (cpuCounter: string) => added({ watch: { ...PLAN.watch, cpuCounter } });
  expect(counter('/sys/fs/cgroup/x/cpuacct.usage')).toEqual([
    [START_ITEM.cpuCounter, `00${hex('/sys/fs/cgroup/x/cpuacct.usage')}`],
  ]);
  expect(counter('/sys/fs/cgroup/x/cpu.stat')).toEqual([
    [START_ITEM.cpuCounter, `01${hex('/sys/fs/cgroup/x/cpu.stat')}`],
  ]);
});

test('limits are numbered as the launcher numbers them', () => {
  const source = readFileSync(new URL('../../native/request.c', import.meta.url), 'utf8');
  const theirs = /RESOURCES\[\] = \{(.*?)\}/s.exec(source)?.[1] ?? '';
  const names = [...theirs.matchAll(/RLIMIT_(\w+)/g)].map(([, name = '']) => name.toLowerCase() as RlimitName);
  expect(names.length).toBeGreaterThan(5);
  for (const [at, name] of names.entries()) {
    const number = at.toString(16).padStart(2, '0');
    expect(added({ rlimits: [{ name, soft: 1, hard: 2 ** 40 }] })).toEqual([
      [START_ITEM.rlimit, `${number}${u64(1)}${u64(2 ** 40)}`],
    ]);
  }
});

test('any texts arrive as they are, each in its own item', () => {
  const texts = fc.array(fc.string({ unit: 'grapheme' }), { minLength: 1 });
  fc.assert(
    fc.property(texts, texts, texts, (argv, environment, wrapper) => {
      const found = itemsOf({ ...PLAN, wrapper, tool: { ...PLAN.tool, argv, environment } }, false);
      const of = (wanted: number) => found.filter(([tag]) => tag === wanted).map(([, bytes]) => bytes);
      expect(of(START_ITEM.toolArgument)).toEqual(argv.map(hex));
      expect(of(START_ITEM.toolVariable)).toEqual(environment.map(hex));
      expect(of(START_ITEM.wrapperArgument)).toEqual(wrapper.map(hex));
    }),
  );
});

test('of a sandbox that waits the tool is left out, and comes with the word', () => {
  const waiting = decodeItems(encodeRequest(PLAN, { stdin: true, toolLaterMs: 30_000 })) ?? [];
  expect(waiting.map(({ tag, bytes }) => [tag, bytes.toString('hex')])).toEqual([
    [START_ITEM.later, u64(30_000)],
    [START_ITEM.watch, [1, 2, 3, 0].map(u64).join('')],
    [START_ITEM.stdin, ''],
  ]);
  const word = (stdin: boolean) => decodeItems(encodeTool(PLAN.tool, { stdin })) ?? [];
  expect(word(false).map(({ tag, bytes }) => [tag, bytes.toString('hex')])).toEqual(itemsOf(PLAN, false).slice(0, 5));
  expect(word(true).map(({ tag }) => tag)).toEqual([...word(false).map(({ tag }) => tag), START_ITEM.stdin]);
});

test('a listener is asked for at the start, and where it goes is said with the word', () => {
  expect(added({ listener: true })).toEqual([[START_ITEM.listener, '']]);
  const tags = (bytes: Buffer) => (decodeItems(bytes) ?? []).map(({ tag }) => tag);
  const wayOut = { gate: 0x0102_0304, label: 'call_1.x-Y' };
  expect(encodeWord({}).length).toBe(0);
  expect(decodeItems(encodeWord({ wayOut }))).toEqual([
    { tag: START_ITEM.wayOut, bytes: Buffer.concat([Buffer.of(4, 3, 2, 1), Buffer.from('call_1.x-Y')]) },
  ]);
  const tool = { ...PLAN.tool, stdin: true };
  expect(encodeWord({ tool })).toEqual(encodeTool(PLAN.tool, { stdin: true }));
  expect(tags(encodeWord({ tool, wayOut }))).toEqual([...tags(encodeTool(tool, tool)), START_ITEM.wayOut]);
  expect(decodeItems(encodeWord({ handOver: true }))).toEqual([{ tag: START_ITEM.handOver, bytes: Buffer.alloc(0) }]);
});

test('a gate is a program, whose it is, and nothing else', () => {
  const tags = (identity: LaunchPlan['identity']) =>
    (decodeItems(encodeGate({ tool: PLAN.tool, identity, staged: [] })) ?? []).map(({ tag }) => tag);
  const program = itemsOf(PLAN, false)
    .slice(0, 5)
    .map(([tag]) => tag);
  expect(tags(undefined)).toEqual([...program, START_ITEM.stdin, START_ITEM.gate]);
  expect(tags({ uid: 1, gid: 2 })).toEqual([...program, START_ITEM.identity, START_ITEM.stdin, START_ITEM.gate]);
});
