import { type JsonValue, parseJson } from '@palyra/primitives';
import type { ServerSettings } from './client.ts';
import { isObject } from './read-fields.ts';
import { OWN_SERVER } from './tool-table.ts';

/** `mcpServers` anywhere in a JSON document: people have some for all projects, and some for one. */
export const hasAnotherInJson: ServerSettings['hasAnotherOfOurName'] = (text, mcpCommand) => {
  if (!text.includes(OWN_SERVER)) return false;
  try {
    const servers = namedIn(parseJson(text, { maxDepth: 64, maxLength: 64 * 1024 * 1024 }));
    return servers.some((server) => !isOurs(server, mcpCommand));
  } catch {
    return true;
  }
};

/**
 * For formats that nothing here reads, TOML and YAML: our name as a key, in any of the forms that they have. Ours is what has
 * the words of our command on the lines below; whoever puts them there and another command besides is found by nobody here.
 */
export const hasAnotherInText: ServerSettings['hasAnotherOfOurName'] = (text, [program]) => {
  const lines = text.split(/\r?\n/).filter((line) => !/^\s*#/.test(line));
  return lines.some((line, at) => {
    if (!NAMED.test(line)) return false;
    const rest = lines.slice(at + 1);
    const end = rest.findIndex((each) => /^\s*\[/.test(each) || NAMED.test(each));
    const below = [line, ...rest.slice(0, end === -1 ? 12 : Math.min(end, 12))].join('\n');
    const [, command] = /(?:command|cmd)\s*[=:]\s*["']?([^"'\s,}]+)/.exec(below) ?? [];
    return !(command === OWN_SERVER || command === program) || !/\bmcp\b[\s"',-]+serve\b/.test(below);
  });
};

const NAMED = /(?:^|[.[{,\s])["']?palyra["']?\s*(?:\]|=\s*\{|:|\.)/;

function namedIn(value: JsonValue): readonly JsonValue[] {
  if (Array.isArray(value)) return value.flatMap(namedIn);
  if (!isObject(value)) return [];
  const { mcpServers: servers } = value;
  const own = isObject(servers) ? servers[OWN_SERVER] : undefined;
  return [...(own === undefined ? [] : [own]), ...Object.values(value).flatMap(namedIn)];
}

function isOurs(server: JsonValue, [program]: readonly [string, ...string[]]): boolean {
  if (!isObject(server)) return false;
  const { command, args } = server;
  const [first, second] = Array.isArray(args) ? (args as readonly JsonValue[]) : [];
  return (command === OWN_SERVER || command === program) && first === 'mcp' && second === 'serve';
}
