import type { ChatMessage, ChatTool } from '@palyra/client/openai';

/** In the place of a model: two calls at once, then words. Its messages have the form of the API's. */
export async function scriptedChat(messages: readonly object[], tools: readonly ChatTool[]): Promise<ChatMessage> {
  const isAnswered = messages.some((message) => 'tool_call_id' in message);
  if (isAnswered) return { content: 'The README has one line. I may not read /etc/shadow.' };
  const names = tools.map(({ function: { name } }) => name);
  if (!names.includes('palyra_process_run')) return { content: 'I have no tool for this.' };
  return {
    content: 'I count the lines, and look.',
    tool_calls: [
      call('call_1', 'palyra_process_run', { argv: ['wc', '-l', 'README.md'] }),
      call('call_2', 'palyra_fs_read', { path: '/etc/shadow' }),
    ],
  };
}

function call(id: string, name: string, input: object) {
  return { id, type: 'function', function: { name, arguments: JSON.stringify(input) } };
}
