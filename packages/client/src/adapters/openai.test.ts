import type { JsonValue } from '@palyra/primitives';
import { describe, expect, test } from 'vitest';
import { ClientError } from '../client-error.ts';
import type { CallOptions } from '../run/pending-call.ts';
import type { ToolCallResult } from '../run/tool-call-result.ts';
import { type OpenAiTools, openAiTools } from './openai.ts';

const SCHEMA = { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] };
const READ = {
  name: 'palyra.fs.read',
  version: '1',
  description: 'Reads a file of the workspace.',
  input_schema: SCHEMA,
  capabilities: [],
  sensitive: false,
  tier: 'C',
  hidden: false,
};

const ALLOWED = { kind: 'allow', policy_ids: ['workspace-read'], reason_code: 'allowed', reason: 'It may.' } as const;

function resultOf(outcome: ToolCallResult['outcome'], more: Partial<ToolCallResult> = {}): ToolCallResult {
  const attestation = {
    attestation_id: 'A',
    execution_sha256: '',
    executor: 'built_in',
    sandbox_enforcement: 'none',
    coverage: 'direct',
    policy_snapshot_sha256: '',
    journal_seq: 1,
  };
  return { run_id: 'R', call_id: 'C', tool: READ.name, decision: ALLOWED, outcome, attestation, ...more };
}

interface Asked {
  readonly tool: string;
  readonly input: JsonValue;
  readonly says: string | undefined;
}

/** A run that says what it was asked, and answers as told. */
function runThat(answer: (tool: string, input: JsonValue) => ToolCallResult | Promise<ToolCallResult>) {
  const asked: Asked[] = [];
  return {
    asked,
    async call(tool: string, input: JsonValue, options: CallOptions = {}) {
      asked.push({ tool, input, says: options.says });
      return answer(tool, input);
    },
  };
}

const done = () => resultOf({ kind: 'completed', output: { text: 'hello' } });
const said = (message: { content: string } | undefined) => JSON.parse(message?.content ?? 'null') as JsonValue;

describe('the catalogue', () => {
  const { chat, responses } = openAiTools([READ]);

  test('for chat completions', () => {
    expect(chat).toEqual([
      {
        type: 'function',
        function: { name: 'palyra_fs_read', description: 'Reads a file of the workspace.', parameters: SCHEMA },
      },
    ]);
  });

  test('for responses, where strict would be the default', () => {
    expect(responses).toEqual([
      {
        type: 'function',
        name: 'palyra_fs_read',
        description: 'Reads a file of the workspace.',
        parameters: SCHEMA,
        strict: false,
      },
    ]);
  });
});

/** `choices[0].message` as the API reference has it. */
const MESSAGE = {
  role: 'assistant',
  content: 'I will read the file.',
  refusal: null,
  annotations: [],
  tool_calls: [
    {
      id: 'call_DdmO9pD3xa9XTPNJ32zg2hcA',
      type: 'function',
      function: { name: 'palyra_fs_read', arguments: '{"path":"README.md"}' },
    },
  ],
};

function chatWith(args: string, tools: OpenAiTools = openAiTools([READ])) {
  const [call] = MESSAGE.tool_calls;
  const message = {
    ...MESSAGE,
    tool_calls: [{ ...call, id: 'call_1', type: 'function', function: { name: 'palyra_fs_read', arguments: args } }],
  };
  return { tools, message };
}

describe('a chat completion', () => {
  test('has its call made, and the message that follows', async () => {
    const run = runThat(done);
    expect(await openAiTools([READ]).answerChat(run, MESSAGE)).toEqual([
      {
        role: 'tool',
        tool_call_id: 'call_DdmO9pD3xa9XTPNJ32zg2hcA',
        content: '{"outcome":"completed","output":{"text":"hello"}}',
      },
    ]);
    expect(run.asked).toEqual([
      { tool: 'palyra.fs.read', input: { path: 'README.md' }, says: 'I will read the file.' },
    ]);
  });

  test('has its calls made together, and answered in order', async () => {
    const bothAsked = Promise.withResolvers<void>();
    let asked = 0;
    const run = runThat(async (_tool, input) => {
      asked += 1;
      if (asked === 2) bothAsked.resolve();
      await bothAsked.promise;
      return resultOf({ kind: 'completed', output: input });
    });
    const calls = ['a', 'b'].map((path) => ({
      id: `call_${path}`,
      type: 'function',
      function: { name: 'palyra_fs_read', arguments: JSON.stringify({ path }) },
    }));
    const messages = await openAiTools([READ]).answerChat(run, { content: null, tool_calls: calls });
    expect(messages.map(({ tool_call_id: id, content }) => [id, said({ content })])).toEqual([
      ['call_a', { outcome: 'completed', output: { path: 'a' } }],
      ['call_b', { outcome: 'completed', output: { path: 'b' } }],
    ]);
  });

  test('that asks for nothing is not answered', async () => {
    const run = runThat(done);
    expect(await openAiTools([READ]).answerChat(run, { content: 'Done.' })).toEqual([]);
    expect(await openAiTools([READ]).answerChat(run, { content: 'Done.', tool_calls: null })).toEqual([]);
    expect(run.asked).toEqual([]);
  });

  test('whose arguments are no JSON is told so, and nothing is proposed', async () => {
    const run = runThat(done);
    for (const args of ['{"path":', '{"path":"a","path":"b"}', 'README.md', '{"path":"a"} {}']) {
      const { tools, message } = chatWith(args);
      const [answer] = await tools.answerChat(run, message);
      expect(said(answer)).toMatchObject({ outcome: 'refused', code: 'invalid_arguments', fix: expect.any(String) });
    }
    expect(run.asked).toEqual([]);
  });

  test('whose arguments are empty has none', async () => {
    const run = runThat(done);
    const { tools, message } = chatWith('');
    await tools.answerChat(run, message);
    expect(run.asked).toMatchObject([{ input: {} }]);
  });

  test('that names a tool which is not there is told so, or somebody else is asked', async () => {
    const run = runThat(done);
    const calls = [
      { id: 'call_1', type: 'function', function: { name: 'get_weather', arguments: '{"city":"Paris"}' } },
    ];
    const [unknown] = await openAiTools([READ]).answerChat(run, { tool_calls: calls });
    expect(said(unknown)).toMatchObject({ outcome: 'refused', code: 'unknown_tool' });
    const others = ({ name, input }: { name: string; input: JsonValue }) => `${name} ${JSON.stringify(input)}`;
    const [other] = await openAiTools([READ], { others }).answerChat(run, { tool_calls: calls });
    expect(other?.content).toBe('get_weather {"city":"Paris"}');
    expect(run.asked).toEqual([]);
  });

  test('that is refused is told why and what would help', async () => {
    const refused = resultOf(
      { kind: 'refused', code: 'policy.denied', message: 'Policy forbids it.' },
      {
        decision: {
          kind: 'deny',
          policy_ids: ['never'],
          reason_code: 'denied',
          reason: 'Keys are secret.',
          fix: 'Ask.',
        },
      },
    );
    const { tools, message } = chatWith('{"path":"~/.ssh/id_rsa"}');
    const [answer] = await tools.answerChat(
      runThat(() => refused),
      message,
    );
    expect(said(answer)).toEqual({
      outcome: 'refused',
      code: 'policy.denied',
      message: 'Policy forbids it.',
      reason: 'Keys are secret.',
      policy_ids: ['never'],
      fix: 'Ask.',
    });
  });

  test('that palyrad does not take is told why; that it is gone is for the program to know', async () => {
    const throwing = (code: string) =>
      runThat(() => {
        throw new ClientError(code, 'No.', { fix: 'Do this.' });
      });
    const { tools, message } = chatWith('{}');
    const [answer] = await tools.answerChat(throwing('gateway.budget_exhausted'), message);
    expect(said(answer)).toEqual({
      outcome: 'refused',
      code: 'gateway.budget_exhausted',
      message: 'No.',
      fix: 'Do this.',
    });
    for (const code of ['client.unreachable', 'client.run_over', 'gateway.run_ended', 'daemon.stopping']) {
      await expect(tools.answerChat(throwing(code), message)).rejects.toMatchObject({ code });
    }
  });

  test('gets of a long output its beginning and its end', async () => {
    const stdout = `${'a'.repeat(500)}${'b'.repeat(500)}`;
    const run = runThat(() => resultOf({ kind: 'completed', exit_code: 0, stdout, stderr: '' }));
    const { message } = chatWith('{}');
    const [answer] = await openAiTools([READ], { maxCharacters: 100 }).answerChat(run, message);
    expect(said(answer)).toEqual({
      outcome: 'completed',
      exit_code: 0,
      stdout: `${'a'.repeat(50)}\n[900 characters left out]\n${'b'.repeat(50)}`,
      stderr: '',
    });
  });
});

/** `response.output` as the API reference has it. */
const OUTPUT = [
  { type: 'reasoning', id: 'rs_1', summary: [] },
  {
    type: 'message',
    id: 'msg_1',
    role: 'assistant',
    content: [{ type: 'output_text', text: 'Reading.', annotations: [] }],
  },
  {
    type: 'function_call',
    id: 'fc_12345xyz',
    call_id: 'call_12345xyz',
    name: 'palyra_fs_read',
    arguments: '{"path":"README.md"}',
    status: 'completed',
  },
  { type: 'function_call', id: 'fc_2', call_id: 'call_2', name: 'palyra_fs_read', arguments: '{"path":"a"}' },
];

test('a response has its calls made, and the items that follow', async () => {
  const run = runThat(done);
  const output = '{"outcome":"completed","output":{"text":"hello"}}';
  expect(await openAiTools([READ]).answerResponse(run, OUTPUT)).toEqual([
    { type: 'function_call_output', call_id: 'call_12345xyz', output },
    { type: 'function_call_output', call_id: 'call_2', output },
  ]);
  expect(run.asked).toEqual([
    { tool: 'palyra.fs.read', input: { path: 'README.md' }, says: 'Reading.' },
    { tool: 'palyra.fs.read', input: { path: 'a' }, says: 'Reading.' },
  ]);
  expect(await openAiTools([READ]).answerResponse(run, OUTPUT.slice(0, 2))).toEqual([]);
});
