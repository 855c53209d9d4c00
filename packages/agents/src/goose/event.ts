import type { JsonObject } from '@palyra/primitives';
import type { AgentEvent } from '../agent-event.ts';
import { readHookMessage } from '../hook-message.ts';
import type { ToolTable } from '../tool-table.ts';

const TOOLS: ToolTable = {
  developer__shell: { act: 'shell', command: 'command' },
  developer__write: { act: 'write', paths: ['path'] },
  developer__edit: { act: 'write', paths: ['path'] },
  developer__tree: { act: 'read', paths: ['path'], mayBeAbsent: true },
  developer__read_image: { act: 'read', paths: ['source'] },
  todo__write: { act: 'harmless' },
  todo__read: { act: 'harmless' },
};

/** The Open Plugins hooks: `PreToolUse`, `PostToolUse`, `PostToolUseFailure` and `SessionEnd`. */
export function readEvent(message: JsonObject): AgentEvent {
  return readHookMessage(message, {
    tools: TOOLS,
    upstreamOf,
    names: {
      event: 'event',
      session: 'session_id',
      cwd: 'working_dir',
      callId: 'tool_call_id',
      output: ['tool_output', 'tool_response', 'error'],
    },
    events: {
      before: 'PreToolUse',
      after: 'PostToolUse',
      failed: 'PostToolUseFailure',
      sessionEnd: 'SessionEnd',
    },
  });
}

/** `EXTENSION__TOOL`; its own extensions are MCP servers as well. */
function upstreamOf(name: string): { readonly server: string; readonly tool: string } | undefined {
  const [, server, tool] = /^(.+?)__(.+)$/.exec(name) ?? [];
  return server === undefined || tool === undefined || server === 'developer' ? undefined : { server, tool };
}
