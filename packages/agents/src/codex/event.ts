import type { JsonObject } from '@palyra/primitives';
import type { AgentEvent } from '../agent-event.ts';
import { readHookMessage } from '../hook-message.ts';
import { doubleUnderscored, type ToolTable } from '../tool-table.ts';

/** Shells of every kind say `Bash`, and a patch comes as the command of `apply_patch`. */
const TOOLS: ToolTable = {
  Bash: { act: 'shell', command: 'command', cwd: 'workdir', timeoutMs: 'timeout_ms' },
  apply_patch: { act: 'patch', patch: 'command' },
  view_image: { act: 'read', paths: ['path'] },
  update_plan: { act: 'harmless' },
};

/** `PreToolUse` and `PostToolUse`, as Codex 0.1xx sends them. A tool that failed has no event of its own. */
export function readEvent(message: JsonObject): AgentEvent {
  return readHookMessage(message, {
    tools: TOOLS,
    upstreamOf: doubleUnderscored,
    names: {
      event: 'hook_event_name',
      session: 'session_id',
      cwd: 'cwd',
      callId: 'tool_use_id',
      output: ['tool_response'],
    },
    events: { before: 'PreToolUse', after: 'PostToolUse', sessionEnd: 'SessionEnd' },
  });
}
