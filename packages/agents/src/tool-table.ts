import { resolve } from 'node:path';
import type { JsonObject, JsonValue } from '@palyra/primitives';
import type { AgentAct } from './agent-event.ts';
import { fixedPartOf, isEverything, isPlainPattern } from './search-patterns.ts';

/**
 * How the tools of one agent are to be read: data, a line for each. What is not in it is `unknown`, and a human is asked.
 * SECURITY: T-58 — a list of what is known, and not of what is dangerous: a tool that is new is not let pass.
 */
export type ToolTable = Readonly<Record<string, ToolShape>>;

export type ToolShape =
  | { readonly act: 'shell'; readonly command: string; readonly cwd?: string; readonly timeoutMs?: string }
  /**
   * Fields that hold a path, or a list of them. Where all are absent it is the directory the agent is in. `patterns` narrow a
   * search of that directory; where there are no `paths` they are what is read.
   */
  | {
      readonly act: 'read' | 'write';
      readonly paths: readonly string[];
      readonly patterns?: readonly string[];
      readonly mayBeAbsent?: true;
    }
  /** Fields that hold a patch in the form that Codex writes. */
  | { readonly act: 'patch'; readonly patch: string }
  | { readonly act: 'fetch'; readonly url: string }
  | { readonly act: 'harmless' };

export interface ToolQuestion {
  readonly tool: string;
  readonly input: JsonObject;
  readonly cwd: string;
}

export interface Reading {
  readonly tools: ToolTable;
  /** The server and the tool of a tool of another MCP server, by the name that the agent has for it. */
  upstreamOf(tool: string): { readonly server: string; readonly tool: string } | undefined;
}

/** By this name agents know Palyra's own MCP server. */
export const OWN_SERVER = 'palyra';

/** As `palyra mcp serve` names them. */
export const OWN_TOOLS: ReadonlySet<string> = new Set([
  'palyra_await',
  'palyra_fs_apply_patch',
  'palyra_fs_list',
  'palyra_fs_read',
  'palyra_fs_search',
  'palyra_fs_write',
  'palyra_http_fetch',
  'palyra_process_run',
  'palyra_wasm_run',
]);

export function readAct({ tool, input, cwd }: ToolQuestion, { tools, upstreamOf }: Reading): AgentAct {
  const shape = Object.hasOwn(tools, tool) ? tools[tool] : undefined;
  if (shape === undefined) {
    const upstream = upstreamOf(tool);
    if (upstream === undefined) return { kind: 'unknown' };
    // SECURITY: T-38 — anybody's server can be called that: only what ours has is decided where it arrives.
    const isOurs = upstream.server === OWN_SERVER && OWN_TOOLS.has(upstream.tool);
    return isOurs ? { kind: 'ours' } : { kind: 'upstream', server: upstream.server };
  }
  switch (shape.act) {
    case 'shell':
      return shellOf(shape, input, cwd);
    case 'read':
    case 'write':
      return pathsOf(shape, input, cwd);
    case 'patch': {
      const patch = input[shape.patch];
      const paths = typeof patch === 'string' ? pathsInPatch(patch) : [];
      return paths.length === 0 || !paths.every(isPlainPath)
        ? { kind: 'unknown' }
        : { kind: 'write', paths: paths.map((path) => resolve(cwd, path)) };
    }
    case 'fetch': {
      const url = input[shape.url];
      return typeof url === 'string' ? { kind: 'fetch', url } : { kind: 'unknown' };
    }
    case 'harmless':
      return { kind: 'harmless' };
  }
}

/** `mcp__SERVER__TOOL`, as most of them write it. */
export function doubleUnderscored(name: string): ReturnType<Reading['upstreamOf']> {
  const [, server, tool] = /^mcp__(.+?)__(.+)$/.exec(name) ?? [];
  // SECURITY: T-38 — `palyra__evil` is a server's name as well: where it ends is not known, so it is not ours.
  return server === undefined || tool === undefined || tool.includes('__') ? undefined : { server, tool };
}

function shellOf(shape: Extract<ToolShape, { act: 'shell' }>, input: JsonObject, cwd: string): AgentAct {
  const command = input[shape.command];
  const elsewhere = shape.cwd === undefined ? undefined : input[shape.cwd];
  const timeout = shape.timeoutMs === undefined ? undefined : input[shape.timeoutMs];
  // A NUL cannot be in any argument: what is run would not be what was written.
  if (typeof command !== 'string' || command.includes('\0')) return { kind: 'unknown' };
  return {
    kind: 'shell',
    command,
    cwd: typeof elsewhere === 'string' && elsewhere !== '' ? resolve(cwd, elsewhere) : cwd,
    ...(typeof timeout === 'number' && timeout > 0 ? { timeoutMs: Math.round(timeout) } : {}),
  };
}

function pathsOf(
  { act, paths: fields, patterns: patternFields = [], mayBeAbsent }: Extract<ToolShape, { act: 'read' | 'write' }>,
  input: JsonObject,
  cwd: string,
): AgentAct {
  const named = valuesOf(input, fields);
  const patterns = valuesOf(input, patternFields);
  if (named.length + patterns.length === 0 && mayBeAbsent !== true) return { kind: 'unknown' };
  // SECURITY: T-57 — a field that is no path here may be one to the agent: then it is not known what it would do.
  if (!named.every((path): path is string => typeof path === 'string' && isPlainPath(path))) {
    return { kind: 'unknown' };
  }
  const isSearch = fields.length > 0;
  const isKnown = (pattern: JsonValue): pattern is string =>
    typeof pattern === 'string' && (isEverything(pattern) ? isSearch : isPlainPattern(pattern));
  if (!patterns.every(isKnown)) return { kind: 'unknown' };
  const paths = isSearch ? named : patterns.map(fixedPartOf);
  return { kind: act, paths: paths.length === 0 ? [cwd] : paths.map((path) => resolve(cwd, path)) };
}

function valuesOf(input: JsonObject, fields: readonly string[]): readonly JsonValue[] {
  return fields.flatMap((field): readonly JsonValue[] => {
    const value = input[field];
    if (value === undefined || value === null) return [];
    return Array.isArray(value) ? [...value] : [value];
  });
}

/** SECURITY: T-14 — agents trim and expand `~`, and `link/..` is not where it seems: only what all read alike is read. */
function isPlainPath(path: string): boolean {
  const goesBack = /(?:^|\/)(?!\.{1,2}(?:\/|$))[^/]+\/+(?:\.\/+)*\.\.(?:\/|$)/.test(path);
  // U+0085 is a blank to programs in Rust, and none to JavaScript.
  const isTrimmed = path !== '' && path === path.trim() && !path.includes('\u0085');
  return isTrimmed && !path.startsWith('~') && !path.includes('\0') && !goesBack;
}

/** Whatever signs are before it; lines that are added or taken away begin with one of their own, and name nothing. */
const NAMING = /^[^\w+-]*\*\*\* (?:Add File|Update File|Delete File|Move to): /;
const NAMED_IN_PATCH = /^[ \t]*\*\*\* (?:Add File|Update File|Delete File|Move to): (.+)$/;
const ODD_BLANK = /[^\S \t]|\u0085/;

/**
 * SECURITY: T-15 — all that it names, in any order: one that is missed would be changed unseen. Codex trims other blanks than
 * JavaScript does, and ends lines elsewhere: of a name with such a one it is not known which file is meant.
 */
function pathsInPatch(patch: string): readonly string[] {
  const named = patch.split(/\r?\n/).filter((line) => NAMING.test(line));
  return named.map((line) => {
    const [, path = ''] = NAMED_IN_PATCH.exec(line) ?? [];
    return ODD_BLANK.test(path) ? '' : path.trim();
  });
}
