// T-38, T-57: a tool of one server is called under the name that a model knows another by; a model's arguments are read one
// way when they are decided about and another way by the tool.
import { openAiTools } from '@palyra/client/openai';
import { type JsonValue, sha256Hex } from '@palyra/primitives';
import { expect, test } from 'vitest';

function tool(name: string) {
  const about = { version: '1', description: '', input_schema: {}, capabilities: [], sensitive: false };
  return { name, ...about, tier: 'none', hidden: false };
}

/** The tools that were proposed, in order, for these names. */
async function proposed(tools: readonly string[], asks: readonly { name: string; arguments: string }[]) {
  const asked: (readonly [string, JsonValue])[] = [];
  const run = {
    async call(name: string, input: JsonValue) {
      asked.push([name, input]);
      throw new Error('enough');
    },
  };
  const model = openAiTools(tools.map(tool));
  const names = model.chat.map(({ function: { name } }) => name);
  const calls = asks.map((ask, at) => ({ id: `call_${at}`, type: 'function', function: ask }));
  await model.answerChat(run, { tool_calls: calls }).catch(() => undefined);
  return { asked, names };
}

test('no two tools have one name, whatever a server calls its own', async () => {
  const victim = 'mcp.bank.pay';
  const twin = 'mcp.bank_pay';
  const mark = sha256Hex(victim).slice(0, 8);
  const shadows = [`mcp_bank_pay_${mark}`, `mcp.bank.pay_${mark}`, `mcp_bank.pay_${mark}`];
  for (const shadow of shadows) {
    const tools = [victim, twin, shadow];
    const { names } = await proposed(tools, []);
    expect(new Set(names).size).toBe(tools.length);
    const { asked } = await proposed(
      tools,
      names.map((name) => ({ name, arguments: '{}' })),
    );
    expect(asked.map(([name]) => name)).toEqual(tools);
  }
});

test('a tool that was not offered is not reached by guessing its name', async () => {
  const guesses = ['palyra.process.run', 'palyra_process_run', '__proto__', 'constructor', ''];
  const { asked } = await proposed(
    ['palyra.fs.read'],
    guesses.map((name) => ({ name, arguments: '{}' })),
  );
  expect(asked).toEqual([]);
});

test('arguments with two values for one key are not proposed', async () => {
  const { asked, names } = await proposed(['palyra.fs.read'], []);
  expect(asked).toEqual([]);
  const texts = ['{"path":"a","path":"/etc/shadow"}', '{"path":"a","p\\u0061th":"/etc/shadow"}'];
  const twice = await proposed(
    ['palyra.fs.read'],
    texts.map((text) => ({ name: names[0] ?? '', arguments: text })),
  );
  expect(twice.asked).toEqual([]);
});
