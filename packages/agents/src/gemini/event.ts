import type { JsonObject, JsonValue } from '@palyra/primitives';
import type { AgentEvent } from '../agent-event.ts';
import { readHookMessage } from '../hook-message.ts';
import { isObject } from '../read-fields.ts';
import { doubleUnderscored, type ToolTable } from '../tool-table.ts';

const INCLUDED: readonly string[] = ['include', 'include_pattern'];

const TOOLS: ToolTable = {
  run_shell_command: { act: 'shell', command: 'command', cwd: 'dir_path' },
  read_file: { act: 'read', paths: ['file_path', 'absolute_path'] },
  read_many_files: { act: 'read', paths: [], patterns: ['include', 'paths'] },
  list_directory: { act: 'read', paths: ['dir_path', 'path'], mayBeAbsent: true },
  glob: { act: 'read', paths: ['dir_path', 'path'], patterns: ['pattern'], mayBeAbsent: true },
  grep_search: { act: 'read', paths: ['dir_path', 'path'], patterns: INCLUDED, mayBeAbsent: true },
  search_file_content: { act: 'read', paths: ['dir_path', 'path'], patterns: INCLUDED, mayBeAbsent: true },
  write_file: { act: 'write', paths: ['file_path'] },
  replace: { act: 'write', paths: ['file_path'] },
  write_todos: { act: 'harmless' },
  ask_user: { act: 'harmless' },
};

/** `BeforeTool`, `AfterTool` and `SessionEnd` of the hooks reference. Calls have no id of their own. */
export function readEvent(message: JsonObject): AgentEvent {
  return readHookMessage(message, {
    tools: TOOLS,
    upstreamOf: doubleUnderscored,
    names: { event: 'hook_event_name', session: 'session_id', cwd: 'cwd', output: ['tool_response'] },
    events: { before: 'BeforeTool', after: 'AfterTool', sessionEnd: 'SessionEnd' },
    hasFailed: (output: JsonValue) => isObject(output) && output['error'] !== undefined && output['error'] !== null,
  });
}
