import type { JsonObject, JsonValue } from '@palyra/primitives';
import type { AgentEvent } from './agent-event.ts';
import { AgentsError } from './agents-error.ts';
import { directoryOf, objectOf, optionalText, textOf } from './read-fields.ts';
import { type Reading, readAct } from './tool-table.ts';

/** How the messages of one agent are laid out; those of most are alike. */
export interface MessageLayout extends Reading {
  readonly names: {
    readonly event: string;
    readonly session: string;
    readonly cwd: string;
    readonly callId?: string;
    /** What the tool put out; the first that is there. */
    readonly output: readonly string[];
  };
  readonly events: {
    readonly before: string;
    readonly after: string;
    readonly failed?: string;
    readonly sessionEnd?: string;
  };
  /** Whether what a tool put out says that it failed. */
  hasFailed?(output: JsonValue): boolean;
}

/** A tool of this name is a canary: our own doctor asks whether the hook answers. */
export const CANARY_TOOL = 'palyra_canary';

/** A message of any agent's: each reads its own fields. Its answer is a no with the nonce in it. */
export function canaryMessage(
  before: string,
  { nonce, cwd }: { readonly nonce: string; readonly cwd: string },
): string {
  const session = `palyra-canary-${nonce}`;
  return JSON.stringify({
    hook_event_name: before,
    event: before,
    session_id: session,
    conversation_id: session,
    cwd,
    working_dir: cwd,
    tool_name: CANARY_TOOL,
    tool_input: { nonce },
  });
}

/** All agents have ids of a few dozen characters. */
const LONGEST_SESSION = 512;

/** Throws `agents.bad_event`. SECURITY: T-39 — it is kept for as long as the session is. */
function sessionOf(message: JsonObject, name: string): string {
  const session = textOf(message, name);
  if (session.length <= LONGEST_SESSION) return session;
  throw new AgentsError('agents.bad_event', `What the hook says has a ${name} that is none.`);
}

/** Throws `agents.bad_event`. */
export function readHookMessage(message: JsonObject, layout: MessageLayout): AgentEvent {
  const { names, events } = layout;
  const event = textOf(message, names.event);
  if (event === events.sessionEnd) return { kind: 'session_ended', session: sessionOf(message, names.session) };
  if (event !== events.before && event !== events.after && event !== events.failed) {
    // SECURITY: T-58 — our hook is entered for those alone: another name is another format, and may be one before a tool.
    throw new AgentsError('agents.bad_event', 'What the hook says is of no event that it was installed for.');
  }
  const tool = textOf(message, 'tool_name');
  const input = objectOf(message, 'tool_input');
  if (tool === CANARY_TOOL) return { kind: 'canary', nonce: textOf(input, 'nonce') };
  const cwd = directoryOf(message, names.cwd);
  const place = {
    session: sessionOf(message, names.session),
    cwd,
    callId: names.callId === undefined ? undefined : optionalText(message, names.callId),
  };
  if (event === events.before) {
    return { kind: 'before', ...place, tool, input, act: readAct({ tool, input, cwd }, layout) };
  }
  const output = names.output.map((name) => message[name]).find((value) => value !== undefined) ?? null;
  const isFailed = event === events.failed || layout.hasFailed?.(output) === true;
  return { kind: 'after', ...place, tool, input, outcome: isFailed ? 'failed' : 'completed', output };
}
