import { type JsonValue, parseJson } from '@palyra/primitives';
import { isObject } from './read-fields.ts';
import { OWN_SERVER } from './tool-table.ts';

/** Whether settings of an agent have Palyra's own MCP server in them, in any of the forms that agents have for it. */
export function hasOwnServer({ path, text }: { readonly path: string; readonly text: string }): boolean {
  if (!text.includes(OWN_SERVER)) return false;
  return path.endsWith('.json') ? hasInJson(text) : SERVED_IN_TEXT.test(withoutComments(text));
}

/** TOML and YAML: our name as a key, and our command in the lines behind it. */
const SERVED_IN_TEXT = /(?:^|[.\s])["']?palyra["']?\s*(?:\]|:)[^[]*(?:\[[^[\]]*)?\bmcp\b[\s"',-]+serve\b/m;

function hasInJson(text: string): boolean {
  try {
    return isServed(parseJson(text, { maxDepth: 64, maxLength: 64 * 1024 * 1024 }));
  } catch {
    // Nobody knows what is in it, the agent included.
    return false;
  }
}

/** Under our name, wherever servers are: some are for one project alone. */
function isServed(value: JsonValue): boolean {
  if (Array.isArray(value)) return value.some(isServed);
  if (!isObject(value)) return false;
  return Object.entries(value).some(([name, each]) => (name === OWN_SERVER && isOurs(each)) || isServed(each));
}

function isOurs(server: JsonValue): boolean {
  if (!isObject(server)) return false;
  const { command, args } = server;
  const words = [command, args].flat();
  const at = words.indexOf('mcp');
  return at > 0 && words[at + 1] === 'serve';
}

function withoutComments(text: string): string {
  return text.replaceAll(/^\s*#.*$/gm, '');
}
