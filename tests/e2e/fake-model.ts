import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';

/** The model's side of the OpenAI Responses API, as Codex speaks it: a stream of events for each request. */
export interface FakeModel extends AsyncDisposable {
  readonly port: number;
  /** A conversation of its own, with its own address. */
  script(turns: readonly Turn[]): Conversation;
}

export interface Conversation {
  /** For `base_url`. */
  readonly url: string;
  /** What was asked in its turns, in order. */
  readonly requests: readonly ModelRequest[];
  /** What the agent told the model of the call of this turn; undefined when it told nothing. */
  outputOf(turn: number): string | undefined;
}

/** What the model says in one turn: one tool call, or something else that happens before it is said. */
export type Turn = ToolCall | (() => ToolCall | Promise<ToolCall>);

export type ToolCall =
  | { readonly type: 'function_call'; readonly name: string; readonly namespace?: string; readonly arguments: string }
  | { readonly type: 'custom_tool_call'; readonly name: string; readonly input: string };

/** As much of a request as the tests look at. */
export interface ModelRequest {
  readonly model: string;
  readonly text?: { readonly format?: unknown };
  readonly tools: readonly { readonly type: string; readonly name?: string }[];
  readonly input: readonly {
    readonly type: string;
    readonly call_id?: string;
    readonly output?: unknown;
  }[];
}

/** Codex's shell. */
export const shell = (cmd: string, more: object = {}): ToolCall => ({
  type: 'function_call',
  name: 'exec_command',
  // Longer than any of these takes: else Codex goes on while it runs.
  arguments: JSON.stringify({ cmd, yield_time_ms: 30_000, ...more }),
});

/** Codex's editor: lines of a patch without its first and its last. */
export const patch = (...lines: readonly string[]): ToolCall => ({
  type: 'custom_tool_call',
  name: 'apply_patch',
  input: ['*** Begin Patch', ...lines, '*** End Patch', ''].join('\n'),
});

export const tool = (name: string, input: object, namespace?: string): ToolCall => ({
  type: 'function_call',
  name,
  ...(namespace === undefined ? {} : { namespace }),
  arguments: JSON.stringify(input),
});

export async function startFakeModel(): Promise<FakeModel> {
  const conversations: { readonly turns: readonly Turn[]; readonly requests: ModelRequest[] }[] = [];
  const server = createServer((request, response) => {
    const [, number, rest] = /^\/(\d+)\/(.*)$/.exec(request.url ?? '') ?? [];
    const conversation = conversations[Number(number)];
    if (conversation === undefined || request.method !== 'POST' || rest !== 'responses') {
      response.writeHead(404).end('{}');
      return;
    }
    void answer(conversation, request, response).catch((error: unknown) => response.destroy(Object(error)));
  });
  const answer = async (
    { turns, requests }: (typeof conversations)[number],
    request: Parameters<typeof json>[0],
    response: ServerResponse,
  ) => {
    const asked = (await json(request)) as ModelRequest;
    // Codex's screen has the conversation named, beside it and at any time: that is none of its turns.
    if (asked.text?.format !== undefined) return sendTurn(response, turns.length, undefined);
    const turn = requests.push(asked) - 1;
    const next = turns[turn];
    sendTurn(response, turn, typeof next === 'function' ? await next() : next);
  };
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    port,
    script(turns) {
      const requests: ModelRequest[] = [];
      const number = conversations.push({ turns, requests }) - 1;
      const outputOf = (turn: number) => {
        const found = requests.flatMap(({ input }) => input).find((item) => isOutputOf(item, turn));
        return typeof found?.output === 'string' ? found.output : JSON.stringify(found?.output);
      };
      return { url: `http://127.0.0.1:${port}/${number}`, requests, outputOf };
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function isOutputOf({ type, call_id: id }: ModelRequest['input'][number], turn: number): boolean {
  return type.endsWith('_output') && id === callId(turn);
}

const callId = (turn: number) => `call_${turn}`;

/** Without a call the turn is the last one. */
function sendTurn(response: ServerResponse, turn: number, call: ToolCall | undefined): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const send = (type: string, more: object) =>
    response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`);
  const message = { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Done.' }] };
  const item = call === undefined ? message : { ...call, call_id: callId(turn) };
  const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
  send('response.created', { response: { id: `response_${turn}` } });
  send('response.output_item.done', { output_index: 0, item: { id: `item_${turn}`, ...item } });
  send('response.completed', { response: { id: `response_${turn}`, usage } });
  response.end();
}
