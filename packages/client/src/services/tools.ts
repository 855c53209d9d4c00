import type { Client as RpcClient } from '@connectrpc/connect';
import type { ToolService, Tool as WireTool } from '@palyra/api';
import type { JsonObject } from '@palyra/primitives';
import { json } from '../wire/plain.ts';
import { ask } from './call.ts';

/** One tool of the catalogue. */
export interface Tool {
  readonly name: string;
  readonly version: string;
  /** For agents. */
  readonly description: string;
  /** JSON Schema. */
  readonly input_schema: JsonObject;
  readonly capabilities: readonly string[];
  /** Whether it can do what a human may want to be asked about. */
  readonly sensitive: boolean;
  /** `A`, `B`, `C`, `built_in` or `none`. */
  readonly tier: string;
  readonly hidden: boolean;
}

export interface Tools {
  /** What the caller may propose, by name. */
  list(options?: { /** Those for tests and demos, too. */ readonly includeHidden?: boolean }): Promise<readonly Tool[]>;
}

export function createTools(rpc: RpcClient<typeof ToolService>): Tools {
  return {
    async list({ includeHidden = false } = {}) {
      const { tools } = await ask(rpc.listTools({ includeHidden }));
      return tools.map(toTool);
    },
  };
}

function toTool({
  name,
  version,
  description,
  inputSchemaJson,
  capabilities,
  sensitive,
  tier,
  hidden,
}: WireTool): Tool {
  const schema = (json(inputSchemaJson) ?? { type: 'object' }) as JsonObject;
  return { name, version, description, input_schema: schema, capabilities, sensitive, tier, hidden };
}
