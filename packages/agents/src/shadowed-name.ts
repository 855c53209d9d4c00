import { type JsonObject, type JsonValue, parseJson } from '@palyra/primitives';
import { parse } from 'smol-toml';
import type { InstallOptions, ServerSettings } from './client.ts';
import { isObject } from './read-fields.ts';
import { OWN_SERVER } from './tool-table.ts';

/** `mcpServers` anywhere in a JSON document: people have some for all projects, and some for one. */
export const hasAnotherInJson: ServerSettings['hasAnotherOfOurName'] = (text, mcpCommand) =>
  hasAnother(text, mcpCommand, () => parseJson(text, { maxDepth: 64, maxLength: 64 * 1024 * 1024 }));

/** `mcp_servers` of Codex, for all projects or in a profile. */
export const hasAnotherInToml: ServerSettings['hasAnotherOfOurName'] = (text, mcpCommand) =>
  hasAnother(text, mcpCommand, () => parse(text) as JsonObject);

/** SECURITY: T-38 — both formats have other ways to write a letter, so that the name is not in the text. */
const MAY_NAME = /palyra|\\[uUx]/;

function hasAnother(text: string, mcpCommand: InstallOptions['mcpCommand'], read: () => JsonValue): boolean {
  if (!MAY_NAME.test(text)) return false;
  try {
    return namedIn(read()).some((server) => !isOurs(server, mcpCommand));
  } catch {
    return true;
  }
}

/**
 * For YAML, which nothing here reads: our name as a key, in any of the forms that it has. Ours is what has the words of our
 * command on the lines below; whoever puts them there and another command besides is found by nobody here.
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
  const own = [value['mcpServers'], value['mcp_servers']].flatMap((servers) => {
    const server = isObject(servers) ? servers[OWN_SERVER] : undefined;
    return server === undefined ? [] : [server];
  });
  return [...own, ...Object.values(value).flatMap(namedIn)];
}

/** What does not settle which program is started, or with what: agents have many such fields, and each year more. */
const HARMLESS: ReadonlySet<string> = new Set(
  'name description enabled disabled trust timeout startup_timeout_sec startup_timeout_ms tool_timeout_sec enabled_tools disabled_tools tools default_tools_approval_mode supports_parallel_tool_calls required includeTools excludeTools'.split(
    ' ',
  ),
);

/** SECURITY: T-38 — an address, a PATH or a home beside our command makes it somebody else's. */
function isOurs(server: JsonValue, [program, ...words]: InstallOptions['mcpCommand']): boolean {
  if (!isObject(server)) return false;
  const { command, args, type = 'stdio', env = {}, ...others } = server;
  const [first, second, ...rest] = Array.isArray(args) ? (args as readonly JsonValue[]) : [];
  const isCommand = (command === OWN_SERVER || command === program) && first === 'mcp' && second === 'serve';
  const isPlain = type === 'stdio' && isObject(env) && Object.keys(env).length === 0;
  return isCommand && isPlain && isSameHome(rest, words) && Object.keys(others).every((name) => HARMLESS.has(name));
}

function isSameHome(given: readonly JsonValue[], ours: readonly string[]): boolean {
  const home = ours[ours.indexOf('--home') + 1];
  return given.every((word, at) => {
    if (word === '--home') return ours.includes('--home') && given[at + 1] === home;
    return typeof word === 'string' && !word.startsWith('--home=');
  });
}
