import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { nodeSha256 } from '../node-crypto.ts';
import type { ToolAttestation } from './attestation.ts';
import { hexOf } from './bytes.ts';
import { commitmentOf } from './commitment.ts';
import { executionRecordBytes, executionRecordOf } from './execution-record.ts';

const EXECUTED: ToolAttestation = {
  attestation_id: '01JQZ0000000000000000000AT',
  origin: 'palyra.local/ada',
  run_id: '01JQZ0000000000000000000RN',
  session_id: '01JQZ0000000000000000000SN',
  call_id: '01JQZ0000000000000000000CA',
  principal: 'agent:coder',
  tool: 'process.run',
  input_sha256: '1'.repeat(64),
  output_sha256: '2'.repeat(64),
  execution_sha256: '3'.repeat(64),
  executor: 'sandbox_tier_b',
  sandbox_enforcement: 'preflight',
  separation: 'service',
  coverage: 'hooked',
  sandbox: {},
  limits: {},
  resources: {},
  egress: [],
  policy_snapshot_sha256: '4'.repeat(64),
  policy_set_sha256: '5'.repeat(64),
  decision: { kind: 'allow', policy_ids: [], reason_code: 'allowed' },
  outcome: { kind: 'failed', code: 'x', exit_code: 3, signal: 'SIGHUP' },
  decided_at: 5,
  started_at: 6,
  ended_at: 7,
  anchor: { kind: 'intent', seq: 1, hash: '6'.repeat(64) },
};

/** Spelled out, because another implementation has to arrive at exactly this. */
const RECORD =
  '{"call_id":"01JQZ0000000000000000000CA","ended_at":7,"executor":"sandbox_tier_b","exit_code":3,' +
  `"format":"palyra.execution/1","input_sha256":"${'1'.repeat(64)}","outcome":"failed",` +
  `"output_sha256":"${'2'.repeat(64)}","policy_snapshot_sha256":"${'4'.repeat(64)}",` +
  '"sandbox_enforcement":"preflight","signal":"SIGHUP","started_at":6,"tool":"process.run"}';

const textOf = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

test('the record of a call is canonical JSON made of the fields of its attestation', () => {
  expect(textOf(executionRecordOf(EXECUTED))).toBe(RECORD);
});

test('the record does not depend on the digest that is made from it', () => {
  const other: ToolAttestation = { ...EXECUTED, execution_sha256: 'f'.repeat(64) };
  expect(executionRecordOf(other)).toEqual(executionRecordOf(EXECUTED));
});

test('the digest is SHA-256 of the salt and the record', () => {
  const salt = new Uint8Array(32).fill(7);
  const expected = createHash('sha256').update(salt).update(RECORD).digest('hex');
  expect(hexOf(commitmentOf(salt, executionRecordOf(EXECUTED), nodeSha256))).toBe(expected);
});

test('what a refusal does not have is absent, not null', () => {
  const { output_sha256: _output, started_at: _started, ended_at: _ended, ...rest } = EXECUTED;
  const refused = {
    ...rest,
    executor: 'none',
    sandbox_enforcement: 'not_executed',
    outcome: { kind: 'refused' },
  } as const;
  expect(JSON.parse(textOf(executionRecordOf(refused)))).toEqual({
    format: 'palyra.execution/1',
    call_id: EXECUTED.call_id,
    tool: 'process.run',
    input_sha256: '1'.repeat(64),
    executor: 'none',
    sandbox_enforcement: 'not_executed',
    outcome: 'refused',
    policy_snapshot_sha256: '4'.repeat(64),
  });
});

test.for([
  ['call_id', { call_id: '01JQZ0000000000000000000CB' }],
  ['tool', { tool: 'process.kill' }],
  ['input', { input_sha256: '0'.repeat(64) }],
  ['output', { output_sha256: '0'.repeat(64) }],
  ['executor', { executor: 'wasmtime' }],
  ['enforcement', { sandbox_enforcement: 'none' }],
  ['outcome', { outcome: { ...EXECUTED.outcome, kind: 'timed_out' } }],
  ['exit code', { outcome: { ...EXECUTED.outcome, exit_code: 4 } }],
  ['signal', { outcome: { ...EXECUTED.outcome, signal: 'SIGINT' } }],
  ['start', { started_at: 8 }],
  ['end', { ended_at: 8 }],
  ['snapshot', { policy_snapshot_sha256: '0'.repeat(64) }],
] as const)('another %s makes another record', ([, fields]) => {
  expect(textOf(executionRecordOf({ ...EXECUTED, ...fields }))).not.toBe(RECORD);
});

test('a record can be written from its own fields', () => {
  const { format, ...fields } = JSON.parse(RECORD) as Parameters<typeof executionRecordBytes>[0] & { format: string };
  expect(format).toBe('palyra.execution/1');
  expect(textOf(executionRecordBytes(fields))).toBe(RECORD);
});
