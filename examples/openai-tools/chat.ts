/** OpenAI's Chat Completions with Palyra's tools: `node chat.ts` in a registered workspace. */
import { connect } from '@palyra/client';
import { type ChatMessage, openAiTools } from '@palyra/client/openai';
import { scriptedChat } from './scripted-chat.ts';

using client = await connect();
await using run = await client.startRun({ workspace: process.cwd() });
const palyra = openAiTools(await client.tools.list());

const messages: object[] = [
  { role: 'user', content: 'How many lines does the README have, and what is in /etc/shadow?' },
];
for (;;) {
  // With the real one: `(await openai.chat.completions.create({ model, messages, tools: palyra.chat })).choices[0].message`
  const message: ChatMessage = await scriptedChat(messages, palyra.chat);
  messages.push({ role: 'assistant', ...message });
  const answers = await palyra.answerChat(run, message);
  if (answers.length === 0) break;
  messages.push(...answers);
}
for (const message of messages) console.log(JSON.stringify(message));
