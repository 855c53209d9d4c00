import type { JsonObject } from '@palyra/primitives';
import type { AgentEvent } from '../agent-event.ts';
import { readHookMessage } from '../hook-message.ts';
import type { ToolTable } from '../tool-table.ts';

const TOOLS: ToolTable = {
  Shell: { act: 'shell', command: 'command', cwd: 'working_directory' },
  Read: { act: 'read', paths: ['file_path', 'path', 'target_file'] },
  Grep: { act: 'read', paths: ['path'], patterns: ['glob', 'include'], mayBeAbsent: true },
  Glob: {
    act: 'read',
    paths: ['path', 'target_directory'],
    patterns: ['glob_pattern', 'pattern'],
    mayBeAbsent: true,
  },
  LS: { act: 'read', paths: ['path', 'target_directory'], mayBeAbsent: true },
  Write: { act: 'write', paths: ['file_path', 'path', 'target_file'] },
  StrReplace: { act: 'write', paths: ['file_path', 'path', 'target_file'] },
  Edit: { act: 'write', paths: ['file_path', 'path', 'target_file'] },
  Delete: { act: 'write', paths: ['file_path', 'path', 'target_file'] },
  Task: { act: 'harmless' },
  TodoWrite: { act: 'harmless' },
};

/** `preToolUse`, `postToolUse`, `postToolUseFailure` and `sessionEnd`, which come for tools of every kind. */
export function readEvent(message: JsonObject): AgentEvent {
  return readHookMessage(message, {
    tools: TOOLS,
    upstreamOf,
    names: {
      event: 'hook_event_name',
      session: 'conversation_id',
      cwd: 'cwd',
      callId: 'tool_use_id',
      output: ['tool_output', 'error_message'],
    },
    events: {
      before: 'preToolUse',
      after: 'postToolUse',
      failed: 'postToolUseFailure',
      sessionEnd: 'sessionEnd',
    },
  });
}

/** `MCP:TOOL`, without the server's name: not even ours is known by it. */
function upstreamOf(name: string): { readonly server: string; readonly tool: string } | undefined {
  const [, tool] = /^MCP:(.+)$/.exec(name) ?? [];
  return tool === undefined ? undefined : { server: 'unnamed', tool };
}
