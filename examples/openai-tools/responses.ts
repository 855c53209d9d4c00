/** OpenAI's Responses with Palyra's tools: `node responses.ts` in a registered workspace. */
import { connect } from '@palyra/client';
import { openAiTools, type ResponseItem } from '@palyra/client/openai';

/** In the place of a model; its items have the form of the API's. */
async function scripted(input: readonly object[]): Promise<readonly ResponseItem[]> {
  const isAnswered = input.some((item) => 'output' in item);
  if (isAnswered) return [{ type: 'message', content: [{ type: 'output_text', text: 'It has one line.' }] }];
  const lines = JSON.stringify({ argv: ['wc', '-l', 'README.md'] });
  return [{ type: 'function_call', call_id: 'call_1', name: 'palyra_process_run', arguments: lines }];
}

using client = await connect();
await using run = await client.startRun({ workspace: process.cwd() });
const palyra = openAiTools(await client.tools.list());

const input: object[] = [{ role: 'user', content: 'How many lines does the README have?' }];
for (;;) {
  // With the real one: `(await openai.responses.create({ model, input, tools: palyra.responses })).output`
  const output = await scripted(input);
  input.push(...output);
  const answers = await palyra.answerResponse(run, output);
  if (answers.length === 0) break;
  input.push(...answers);
}
for (const item of input) console.log(JSON.stringify(item));
