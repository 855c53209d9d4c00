import type { JsonObject } from '@palyra/primitives';
import type { AgentEvent } from '../agent-event.ts';
import { readHookMessage } from '../hook-message.ts';
import { doubleUnderscored, type ToolTable } from '../tool-table.ts';

const TOOLS: ToolTable = {
  Bash: { act: 'shell', command: 'command', timeoutMs: 'timeout' },
  Read: { act: 'read', paths: ['file_path'] },
  NotebookRead: { act: 'read', paths: ['notebook_path'] },
  Glob: { act: 'read', paths: ['path'], patterns: ['pattern'], mayBeAbsent: true },
  Grep: { act: 'read', paths: ['path'], patterns: ['glob'], mayBeAbsent: true },
  LS: { act: 'read', paths: ['path'], mayBeAbsent: true },
  Write: { act: 'write', paths: ['file_path'] },
  Edit: { act: 'write', paths: ['file_path'] },
  MultiEdit: { act: 'write', paths: ['file_path'] },
  NotebookEdit: { act: 'write', paths: ['notebook_path'] },
  WebFetch: { act: 'fetch', url: 'url' },
  // Their calls come as events of their own.
  Task: { act: 'harmless' },
  Agent: { act: 'harmless' },
  Skill: { act: 'harmless' },
  SlashCommand: { act: 'harmless' },
  // Lists, plans and questions: they stay in the agent.
  TodoWrite: { act: 'harmless' },
  TodoRead: { act: 'harmless' },
  TaskCreate: { act: 'harmless' },
  TaskUpdate: { act: 'harmless' },
  TaskList: { act: 'harmless' },
  TaskGet: { act: 'harmless' },
  TaskOutput: { act: 'harmless' },
  TaskStop: { act: 'harmless' },
  EnterPlanMode: { act: 'harmless' },
  ExitPlanMode: { act: 'harmless' },
  AskUserQuestion: { act: 'harmless' },
  ToolSearch: { act: 'harmless' },
  // Of commands that were let run before.
  BashOutput: { act: 'harmless' },
  KillShell: { act: 'harmless' },
  KillBash: { act: 'harmless' },
};

/** `PreToolUse`, `PostToolUse`, `PostToolUseFailure` and `SessionEnd`, as Claude Code 2 sends them. */
export function readEvent(message: JsonObject): AgentEvent {
  return readHookMessage(message, {
    tools: TOOLS,
    upstreamOf: doubleUnderscored,
    names: {
      event: 'hook_event_name',
      session: 'session_id',
      cwd: 'cwd',
      callId: 'tool_use_id',
      output: ['tool_response', 'error'],
    },
    events: {
      before: 'PreToolUse',
      after: 'PostToolUse',
      failed: 'PostToolUseFailure',
      sessionEnd: 'SessionEnd',
    },
  });
}
