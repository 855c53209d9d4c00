import { GatewayError } from '../gateway-error.ts';
import { readInputSchema } from './input-schema.ts';
import type { Tool, ToolMetadata } from './tool.ts';

/** Which tools there are. */
export interface Catalog {
  /** By its exact name, hidden ones too. */
  get(name: string): Tool | undefined;
  /** In order of names. */
  list(options?: { readonly includeHidden?: boolean }): readonly ToolMetadata[];
}

const NAME = /^[a-z0-9][a-z0-9_-]*(?:\.[a-z0-9_-]+)*$/;

/** Throws `gateway.invalid_catalog` for two tools of one name, and for a tool that is not described as tools must be. */
export function createCatalog(tools: readonly Tool[]): Catalog {
  const byName = new Map<string, Tool>();
  for (const tool of tools) {
    const { name, inputSchema } = tool.metadata;
    if (!NAME.test(name)) throw fault(`A tool has a name that no policy can name: ${JSON.stringify(name)}.`);
    // SECURITY: T-38 — the later one would be run under the name that the earlier one was allowed by.
    if (byName.has(name)) throw fault(`There are two tools of the name ${name}.`);
    readInputSchema(name, inputSchema);
    byName.set(name, tool);
  }
  const all = [...byName.values()].map(({ metadata }) => metadata).toSorted((a, b) => (a.name < b.name ? -1 : 1));
  return {
    get: (name) => byName.get(name),
    list: ({ includeHidden = false } = {}) => all.filter(({ isHidden }) => includeHidden || !isHidden),
  };
}

function fault(message: string): GatewayError {
  return new GatewayError('gateway.invalid_catalog', message, {
    fix: 'Give every tool a name of its own, in lower case.',
  });
}
