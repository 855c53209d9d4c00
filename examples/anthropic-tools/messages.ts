/** Anthropic's Messages with Palyra's tools: `node messages.ts` in a registered workspace. */
import { connect } from '@palyra/client';
import { anthropicTools, type ContentBlock } from '@palyra/client/anthropic';

/** In the place of a model; its blocks have the form of the API's. */
async function scripted(messages: readonly object[]): Promise<readonly ContentBlock[]> {
  if (messages.length > 1) return [{ type: 'text', text: 'The README has one line. I may not read /etc/shadow.' }];
  return [
    { type: 'text', text: 'I count the lines, and look.' },
    { type: 'tool_use', id: 'toolu_1', name: 'palyra_process_run', input: { argv: ['wc', '-l', 'README.md'] } },
    { type: 'tool_use', id: 'toolu_2', name: 'palyra_fs_read', input: { path: '/etc/shadow' } },
  ];
}

using client = await connect();
await using run = await client.startRun({ workspace: process.cwd() });
const palyra = anthropicTools(await client.tools.list());

const messages: object[] = [
  { role: 'user', content: 'How many lines does the README have, and what is in /etc/shadow?' },
];
for (;;) {
  // With the real one: `(await anthropic.messages.create({ model, max_tokens, messages, tools: palyra.tools })).content`
  const content = await scripted(messages);
  messages.push({ role: 'assistant', content });
  const answer = await palyra.answer(run, content);
  if (answer === undefined) break;
  messages.push(answer);
}
for (const message of messages) console.log(JSON.stringify(message));
