import type { InstallOptions } from './client.ts';
import { hasAnotherInJson, hasAnotherInText, hasAnotherInToml } from './shadowed-name.ts';

/** Files in which an agent's program looks for MCP servers; what plugins and options of its command line add is not among them. */
export interface ServerPlaces {
  /** Below the user's home. */
  readonly ofUser: readonly string[];
  /** Below the directory that the agent works in, or one above it. */
  readonly ofProject: readonly string[];
}

const PLACES: Readonly<Record<string, ServerPlaces>> = {
  'claude-code': { ofUser: ['.claude.json'], ofProject: ['.mcp.json'] },
  codex: { ofUser: ['.codex/config.toml'], ofProject: ['.codex/config.toml'] },
  cursor: { ofUser: ['.cursor/mcp.json'], ofProject: ['.cursor/mcp.json'] },
  gemini: { ofUser: ['.gemini/settings.json'], ofProject: ['.gemini/settings.json'] },
  goose: { ofUser: ['.config/goose/config.yaml'], ofProject: [] },
};

export function serverPlaces(client: string): ServerPlaces {
  return (Object.hasOwn(PLACES, client) ? PLACES[client] : undefined) ?? { ofUser: [], ofProject: [] };
}

/** Whether such a file has a server of our name that is not ours, or may have one. */
export function namesAnotherServer(
  { path, text }: { readonly path: string; readonly text: string },
  mcpCommand: InstallOptions['mcpCommand'],
): boolean {
  if (path.endsWith('.json')) return hasAnotherInJson(text, mcpCommand);
  return (path.endsWith('.toml') ? hasAnotherInToml : hasAnotherInText)(text, mcpCommand);
}
