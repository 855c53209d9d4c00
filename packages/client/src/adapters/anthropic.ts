import type { JsonObject, JsonValue } from '@palyra/primitives';
import type { Run } from '../run/open-run.ts';
import type { Tool } from '../services/tools.ts';
import { createModelTools, type ModelToolOptions } from './answer-model.ts';

/** Of the Messages API. */
export interface MessagesTool {
  name: string;
  description: string;
  input_schema: JsonObject & { type: 'object' };
}

/** What is read of a block of a message's content. */
export interface ContentBlock {
  readonly type: string;
  readonly id?: string;
  readonly name?: string;
  readonly input?: unknown;
  readonly text?: string;
}

export interface ToolResultBlock {
  type: 'tool_result';
  tool_use_id: string;
  content: string;
  is_error: boolean;
}

export interface ToolResultMessage {
  role: 'user';
  content: ToolResultBlock[];
}

/** The catalogue as Anthropic's models take it, and their calls through Palyra. */
export interface AnthropicTools {
  /** `tools` of a message. */
  readonly tools: MessagesTool[];
  /** Makes the calls of a message, together; the message that follows it. Undefined: it asks for none. */
  answer(run: Pick<Run, 'call'>, content: readonly ContentBlock[]): Promise<ToolResultMessage | undefined>;
}

export function anthropicTools(tools: readonly Tool[], options: ModelToolOptions = {}): AnthropicTools {
  const model = createModelTools(tools, options);
  return {
    tools: tools.map(({ name, description, input_schema: schema }) => ({
      name: model.names.forModel(name),
      description,
      input_schema: { ...schema, type: 'object' },
    })),
    async answer(run, content) {
      const says = content.map(({ type, text = '' }) => (type === 'text' ? text : '')).join('');
      // Not `server_tool_use`: the provider makes those calls itself.
      const asked = content.filter(({ type }) => type === 'tool_use');
      const results = await Promise.all(
        asked.map(async ({ id = '', name = '', input }): Promise<ToolResultBlock> => {
          const value = (input ?? {}) as JsonValue;
          const answer = await model.answer(run, { id, name, input: { value }, says });
          return { type: 'tool_result', tool_use_id: id, content: answer.content, is_error: answer.isError };
        }),
      );
      return results.length === 0 ? undefined : { role: 'user', content: results };
    },
  };
}
