import type { JsonObject } from '@palyra/primitives';
import type { Run } from '../run/open-run.ts';
import type { Tool } from '../services/tools.ts';
import { createModelTools, type ModelToolOptions } from './answer-model.ts';

/** Of the Chat Completions API. */
export interface ChatTool {
  type: 'function';
  function: { name: string; description: string; parameters: JsonObject };
}

/** Of the Responses API. */
export interface ResponseTool {
  type: 'function';
  name: string;
  description: string;
  parameters: JsonObject;
  strict: false;
}

/** What is read of an assistant's message: `choices[0].message`. */
export interface ChatMessage {
  readonly content?: string | null;
  readonly tool_calls?: readonly ChatToolCall[] | null;
}

export interface ChatToolCall {
  readonly id: string;
  readonly type: string;
  readonly function?: { readonly name: string; readonly arguments: string };
}

export interface ChatToolMessage {
  role: 'tool';
  tool_call_id: string;
  content: string;
}

/** What is read of an item of `response.output`. */
export interface ResponseItem {
  readonly type: string;
  readonly call_id?: string;
  readonly name?: string;
  readonly arguments?: string;
  readonly content?: unknown;
}

export interface FunctionCallOutput {
  type: 'function_call_output';
  call_id: string;
  output: string;
}

/** The catalogue as OpenAI's models take it, and their calls through Palyra. */
export interface OpenAiTools {
  /** `tools` of a chat completion. */
  readonly chat: ChatTool[];
  /** `tools` of a response. */
  readonly responses: ResponseTool[];
  /** Makes the calls of a message, together; the messages that follow it, in order. None: it asks for none. */
  answerChat(run: Pick<Run, 'call'>, message: ChatMessage): Promise<ChatToolMessage[]>;
  /** Makes the calls of a response's output, together; the next input's items. None: it asks for none. */
  answerResponse(run: Pick<Run, 'call'>, output: readonly ResponseItem[]): Promise<FunctionCallOutput[]>;
}

export function openAiTools(tools: readonly Tool[], options: ModelToolOptions = {}): OpenAiTools {
  const model = createModelTools(tools, options);
  const described = tools.map(({ name, description, input_schema: parameters }) => ({
    name: model.names.forModel(name),
    description,
    parameters,
  }));
  return {
    chat: described.map((each) => ({ type: 'function', function: each })),
    // Strict schemas have no optional fields, and ours do; that they are kept is checked by palyrad.
    responses: described.map((each) => ({ type: 'function', ...each, strict: false })),
    answerChat(run, { content, tool_calls: calls }) {
      const asked = (calls ?? []).flatMap(({ id, function: called }) => (called === undefined ? [] : [{ id, called }]));
      return Promise.all(
        asked.map(async ({ id, called }): Promise<ChatToolMessage> => {
          const { name, arguments: text } = called;
          const answer = await model.answer(run, { id, name, input: { text }, says: content ?? '' });
          return { role: 'tool', tool_call_id: id, content: answer.content };
        }),
      );
    },
    answerResponse(run, output) {
      const says = output.map(textOf).join('');
      const asked = output.filter(({ type }) => type === 'function_call');
      return Promise.all(
        asked.map(async ({ call_id: id = '', name = '', arguments: text = '' }): Promise<FunctionCallOutput> => {
          const answer = await model.answer(run, { id, name, input: { text }, says });
          return { type: 'function_call_output', call_id: id, output: answer.content };
        }),
      );
    },
  };
}

/** Of a message among the items. */
function textOf({ type, content }: ResponseItem): string {
  if (type !== 'message' || !Array.isArray(content)) return '';
  return content.map((part: { text?: unknown } | null) => (typeof part?.text === 'string' ? part.text : '')).join('');
}
