import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { nodeSha256 } from '../node-crypto.ts';
import {
  type EgressSnapshot,
  parsePolicySnapshot,
  policySnapshotDigest,
  policySnapshotText,
  type ToolCallPolicySnapshot,
} from './policy-snapshot.ts';

const SNAPSHOT: ToolCallPolicySnapshot = {
  format: 'palyra.policy-snapshot/1',
  policy_set_sha256: '1'.repeat(64),
  preset: 'coding',
  allowed_tools: ['fs.read', 'fs.write', 'process.run'],
  max_calls_per_run: 64,
  execution_timeout_ms: 120_000,
  process_runner: {
    enabled: true,
    tier: 'C',
    egress_enforcement_mode: 'strict',
    allowed_egress_hosts: ['[2001:db8::1]:443', 'packages.example.org'],
    allowed_egress_host_suffixes: ['.github.com'],
    limits: { cpu_ms: 30_000, memory_bytes: 2 ** 31, output_bytes: 2 ** 20, processes: 64, open_files: 256 },
  },
  wasm_runtime: {
    enabled: true,
    fuel_budget: 10_000_000,
    memory_bytes: 2 ** 26,
    table_elements: 1000,
    instances: 4,
    host_functions: ['http.get', 'log.write'],
  },
  skills: [
    { skill: 'acme/lint', version: '1.2.0', artifact_sha256: '2'.repeat(64) },
    { skill: 'acme/fmt', version: '0.1.0', artifact_sha256: '3'.repeat(64) },
  ],
  approvals: { sensitive_capabilities: ['network', 'process_exec'], timeout_ms: 300_000 },
  egress: {
    unlisted: 'ask',
    private_ranges: ['10.0.0.0/8', '127.0.0.1:8080', '[::1]:8080', 'fd00::/8'],
    registry_hosts: ['npm.example:443'],
    pinned_hosts: ['db.example=10.0.0.7', 'db.example=fd00::7'],
    authorities_sha256: ['4'.repeat(64)],
    limits: { connections: 256, bytes_in: 2 ** 33 },
  },
};
const INVALID = { name: 'JournalError', code: 'journal.invalid_snapshot' };

test('a snapshot is retrieved from its text as it was', () => {
  expect(parsePolicySnapshot(JSON.parse(policySnapshotText(SNAPSHOT)))).toEqual(SNAPSHOT);
});

test('the digest is SHA-256 of the text, without a salt', () => {
  const expected = createHash('sha256').update(policySnapshotText(SNAPSHOT)).digest('hex');
  expect(policySnapshotDigest(SNAPSHOT, nodeSha256)).toBe(expected);
});

test('the text of a small snapshot is known to the letter', () => {
  const small: ToolCallPolicySnapshot = {
    format: 'palyra.policy-snapshot/1',
    policy_set_sha256: '0'.repeat(64),
    preset: 'locked',
    allowed_tools: [],
    max_calls_per_run: 0,
    execution_timeout_ms: 1,
    process_runner: {
      enabled: false,
      tier: 'B',
      egress_enforcement_mode: 'none',
      allowed_egress_hosts: [],
      allowed_egress_host_suffixes: [],
      limits: {},
    },
    wasm_runtime: { enabled: false, fuel_budget: 0, memory_bytes: 0, host_functions: [] },
    skills: [],
  };
  expect(policySnapshotText(small)).toBe(
    '{"allowed_tools":[],"execution_timeout_ms":1,"format":"palyra.policy-snapshot/1","max_calls_per_run":0,' +
      `"policy_set_sha256":"${'0'.repeat(64)}","preset":"locked","process_runner":{` +
      '"allowed_egress_host_suffixes":[],"allowed_egress_hosts":[],"egress_enforcement_mode":"none",' +
      '"enabled":false,"limits":{},"tier":"B"},"skills":[],"wasm_runtime":{"enabled":false,"fuel_budget":0,' +
      '"host_functions":[],"memory_bytes":0}}',
  );
});

test('the same settings have the same digest, in whatever order and however often they were collected', () => {
  const shuffled = fc.shuffledSubarray([...SNAPSHOT.allowed_tools], { minLength: 3 });
  fc.assert(
    fc.property(shuffled, fc.shuffledSubarray([...SNAPSHOT.skills], { minLength: 2 }), (tools, skills) => {
      const again = { ...SNAPSHOT, allowed_tools: [...tools, ...tools], skills };
      expect(policySnapshotText(again)).toBe(policySnapshotText(SNAPSHOT));
    }),
  );
});

test.for([
  ['preset', { preset: 'observe' }],
  ['allowed tools', { allowed_tools: ['fs.read'] }],
  ['calls', { max_calls_per_run: 65 }],
  ['tier', { process_runner: { ...SNAPSHOT.process_runner, tier: 'B' } }],
  ['egress mode', { process_runner: { ...SNAPSHOT.process_runner, egress_enforcement_mode: 'preflight' } }],
  ['fuel', { wasm_runtime: { ...SNAPSHOT.wasm_runtime, fuel_budget: 1 } }],
  ['skills', { skills: [] }],
  ['unlisted hosts', { egress: { ...(SNAPSHOT.egress as EgressSnapshot), unlisted: 'deny' } }],
] as const)('other %s make another digest', ([, fields]) => {
  expect(policySnapshotDigest({ ...SNAPSHOT, ...fields }, nodeSha256)).not.toBe(
    policySnapshotDigest(SNAPSHOT, nodeSha256),
  );
});

describe('reading refuses', () => {
  const runner = SNAPSHOT.process_runner;
  test.for([
    ['no object', 'x', 'The whole is not an object.'],
    ['an unknown field', { ...SNAPSHOT, extra: 1 }, '"extra" is unknown.'],
    ['another format', { ...SNAPSHOT, format: 'palyra.policy-snapshot/2' }, '"format" is not one of'],
    [
      'an unknown tier',
      { ...SNAPSHOT, process_runner: { ...runner, tier: 'D' } },
      '"process_runner/tier" is not one of',
    ],
    ['a list out of order', { ...SNAPSHOT, allowed_tools: ['b', 'a'] }, '"allowed_tools" is not sorted'],
    [
      'an item twice',
      { ...SNAPSHOT, allowed_tools: ['a', 'a'] },
      '"allowed_tools" is not sorted, or has an item twice.',
    ],
    ['skills out of order', { ...SNAPSHOT, skills: SNAPSHOT.skills.toReversed() }, '"skills" is not sorted'],
    [
      'a host with a path',
      { ...SNAPSHOT, process_runner: { ...runner, allowed_egress_hosts: ['a.example/b'] } },
      '"process_runner/allowed_egress_hosts/0" is not a host.',
    ],
    ['a missing fuel budget', { ...SNAPSHOT, wasm_runtime: {} }, 'is missing.'],
  ] as const)('%s', ([, value, sentence]) => {
    expect(() => parsePolicySnapshot(value)).toThrow(
      expect.objectContaining({ ...INVALID, message: expect.stringContaining(sentence) as string }),
    );
  });
});

describe('writing refuses', () => {
  test.for([
    ['what is not a snapshot', {}],
    ['undefined', { ...SNAPSHOT, approvals: undefined }],
    ['a number that is none', { ...SNAPSHOT, max_calls_per_run: Number.NaN }],
    ['a list of something else', { ...SNAPSHOT, allowed_tools: [() => 1] }],
  ] as const)('%s', ([, value]) => {
    expect(() => policySnapshotText(value as unknown as ToolCallPolicySnapshot)).toThrow(
      expect.objectContaining(INVALID),
    );
  });
});
