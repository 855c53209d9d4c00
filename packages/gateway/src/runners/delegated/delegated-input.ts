import type { JsonObject } from '@palyra/primitives';

/** What an agent's own tool would do, as its hook told it; made by palyrad from the hook's message, never by the agent. */
export interface DelegatedInput {
  /** The agent's program, such as `claude-code`. */
  readonly client: string;
  /** The tool, as the agent's program calls it. */
  readonly tool: string;
  /** Absolute. */
  readonly paths: readonly string[];
  /** Of a fetch. */
  readonly url?: string;
  /** Of a tool of another MCP server that the agent is connected to itself. */
  readonly server?: string;
  /** What the tool was given, as JSON: for whoever is asked, and for the record. */
  readonly arguments: string;
}

const MOST_PATHS = 256;

export const DELEGATED_INPUT: JsonObject = {
  type: 'object',
  properties: {
    client: { type: 'string', pattern: '^[a-z][a-z0-9-]{0,31}$' },
    tool: { type: 'string', minLength: 1, maxLength: 256 },
    paths: { type: 'array', items: { type: 'string', minLength: 1, maxLength: 4096 }, maxItems: MOST_PATHS },
    url: { type: 'string', minLength: 1, maxLength: 8192 },
    server: { type: 'string', minLength: 1, maxLength: 256 },
    arguments: { type: 'string', maxLength: 1_000_000 },
  },
  required: ['client', 'tool', 'paths', 'arguments'],
  additionalProperties: false,
};
