import type { JsonObject } from '@palyra/primitives';
import type { AgentEvent } from '../agent-event.ts';
import { readHookMessage } from '../hook-message.ts';
import { doubleUnderscored, type ToolTable } from '../tool-table.ts';

/**
 * Shells of every kind say `Bash`, whose `cwd` is that of the call, and a patch comes as the command of `apply_patch`. What is
 * typed into a command that runs (`write_stdin`) and what the model's own host does (`web_search`) has no event. What agents of
 * an agent do has events of its own.
 */
const TOOLS: ToolTable = {
  Bash: { act: 'shell', command: 'command' },
  apply_patch: { act: 'patch', patch: 'command' },
  view_image: { act: 'read', paths: ['path'] },
  update_plan: { act: 'harmless' },
  get_goal: { act: 'harmless' },
  create_goal: { act: 'harmless' },
  update_goal: { act: 'harmless' },
  spawn_agent: { act: 'harmless' },
  multi_agent_v1send_input: { act: 'harmless' },
  multi_agent_v1wait_agent: { act: 'harmless' },
  multi_agent_v1resume_agent: { act: 'harmless' },
  multi_agent_v1close_agent: { act: 'harmless' },
  request_user_input: { act: 'harmless' },
};

/**
 * `PreToolUse` and `PostToolUse`, as Codex 0.166 sends them. A tool that failed has no event of its own, but a command that
 * ended with another code than 0 has.
 */
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
