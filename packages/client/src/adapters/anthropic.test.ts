import type { JsonValue } from '@palyra/primitives';
import { expect, test } from 'vitest';
import type { CallOptions } from '../run/pending-call.ts';
import type { ToolCallResult } from '../run/tool-call-result.ts';
import { anthropicTools } from './anthropic.ts';

const SCHEMA = { type: 'object', properties: { command: { type: 'array' } }, additionalProperties: false };
const RUN = {
  name: 'palyra.process.run',
  version: '1',
  description: 'Runs a command.',
  input_schema: SCHEMA,
  capabilities: ['process_exec'],
  sensitive: true,
  tier: 'C',
  hidden: false,
};

const ATTESTATION = {
  attestation_id: 'A',
  execution_sha256: '',
  executor: 'sandbox_tier_c_linux_bubblewrap',
  sandbox_enforcement: 'strict',
  coverage: 'direct',
  policy_snapshot_sha256: '',
  journal_seq: 1,
};
const PLACE = { run_id: 'R', call_id: 'C', tool: RUN.name, attestation: ATTESTATION };
const COMPLETED: ToolCallResult = {
  ...PLACE,
  decision: { kind: 'allow', policy_ids: ['in-the-box'], reason_code: 'allowed', reason: 'It stays in the box.' },
  outcome: { kind: 'completed', exit_code: 1, stdout: '', stderr: 'no tests\n' },
};
const DENIED: ToolCallResult = {
  ...PLACE,
  decision: { kind: 'ask', policy_ids: ['leave-the-box'], reason_code: 'ask', reason: 'It leaves the box.' },
  approval: { id: 'Q', outcome: 'denied', decided_by: 'user:ada' },
  outcome: { kind: 'refused', code: 'gateway.approval_denied', message: 'A human refused: not today.' },
};

/** `content` of a message with `stop_reason: "tool_use"`, as the API reference has it. */
const CONTENT = [
  { type: 'text', text: 'Let me run the tests.' },
  { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'x' } },
  {
    type: 'tool_use',
    id: 'toolu_01A09q90qw90lq917835lq9',
    name: 'palyra_process_run',
    input: { command: ['npm', 'test'] },
  },
  { type: 'tool_use', id: 'toolu_02', name: 'palyra_process_run', input: { command: ['npm', 'publish'] } },
  { type: 'tool_use', id: 'toolu_03', name: 'get_weather', input: { location: 'San Francisco, CA' } },
];

function runThat(answers: readonly ToolCallResult[]) {
  const asked: { tool: string; input: JsonValue; says: string | undefined }[] = [];
  return {
    asked,
    async call(tool: string, input: JsonValue, { says }: CallOptions = {}) {
      asked.push({ tool, input, says });
      return answers[asked.length - 1] ?? COMPLETED;
    },
  };
}

test('the catalogue as tools of a message', () => {
  expect(anthropicTools([RUN, { ...RUN, name: 'x', input_schema: {} }]).tools).toEqual([
    { name: 'palyra_process_run', description: 'Runs a command.', input_schema: SCHEMA },
    { name: 'x', description: 'Runs a command.', input_schema: { type: 'object' } },
  ]);
});

test('a message has its calls made, and every tool_use its result, in order', async () => {
  const run = runThat([COMPLETED, DENIED]);
  const results: ToolCallResult[] = [];
  const answer = await anthropicTools([RUN], { onResult: (result) => void results.push(result) }).answer(run, CONTENT);
  expect(answer?.role).toBe('user');
  expect(
    answer?.content.map(({ content, ...block }) => ({ ...block, said: JSON.parse(content) as JsonValue })),
  ).toEqual([
    {
      type: 'tool_result',
      tool_use_id: 'toolu_01A09q90qw90lq917835lq9',
      is_error: false,
      // It has completed: that its tests fail is what the model wants to know.
      said: { outcome: 'completed', exit_code: 1, stdout: '', stderr: 'no tests\n' },
    },
    {
      type: 'tool_result',
      tool_use_id: 'toolu_02',
      is_error: true,
      said: {
        outcome: 'refused',
        reason: 'It leaves the box.',
        policy_ids: ['leave-the-box'],
        approval: 'denied',
        code: 'gateway.approval_denied',
        message: 'A human refused: not today.',
      },
    },
    {
      type: 'tool_result',
      tool_use_id: 'toolu_03',
      is_error: true,
      said: expect.objectContaining({ outcome: 'refused', code: 'unknown_tool' }),
    },
  ]);
  expect(run.asked).toEqual([
    { tool: 'palyra.process.run', input: { command: ['npm', 'test'] }, says: 'Let me run the tests.' },
    { tool: 'palyra.process.run', input: { command: ['npm', 'publish'] }, says: 'Let me run the tests.' },
  ]);
  expect(results).toEqual([COMPLETED, DENIED]);
});

test('a message that asks for nothing has no answer', async () => {
  expect(await anthropicTools([RUN]).answer(runThat([]), CONTENT.slice(0, 2))).toBeUndefined();
});
