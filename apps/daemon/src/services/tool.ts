import type { ServiceImpl } from '@connectrpc/connect';
import type { ToolService } from '@palyra/api';
import { type Catalog, isAllowedTool, type ToolCallConfig, type ToolMetadata } from '@palyra/gateway';

export interface ToolServiceDeps {
  readonly catalog: Pick<Catalog, 'list'>;
  readonly toolCalls: Pick<ToolCallConfig, 'allowedTools'>;
}

export function createToolService({ catalog, toolCalls }: ToolServiceDeps): ServiceImpl<typeof ToolService> {
  return {
    listTools({ includeHidden }) {
      const tools = catalog.list({ includeHidden }).filter(({ name }) => isAllowedTool(toolCalls, name));
      return { tools: tools.map(toolOf) };
    },
  };
}

function toolOf({ name, version, description, inputSchema, capabilities, isSensitive, tier, isHidden }: ToolMetadata) {
  return {
    name,
    version,
    description,
    inputSchemaJson: JSON.stringify(inputSchema),
    capabilities: [...capabilities],
    sensitive: isSensitive,
    tier,
    hidden: isHidden,
  };
}
