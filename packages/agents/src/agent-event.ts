import type { JsonObject, JsonValue } from '@palyra/primitives';

/** What an agent's hook says, in our words, whichever agent it is. */
export type AgentEvent =
  | (EventPlace & {
      readonly kind: 'before';
      readonly tool: string;
      readonly act: AgentAct;
      readonly input: JsonObject;
    })
  | (EventPlace & {
      readonly kind: 'after';
      readonly tool: string;
      readonly input: JsonObject;
      readonly outcome: 'completed' | 'failed';
      readonly output: JsonValue;
    })
  | { readonly kind: 'session_ended'; readonly session: string }
  /** Something that decides nothing and reports nothing. */
  | { readonly kind: 'other' }
  /** Ours: whether the hook is alive. */
  | { readonly kind: 'canary'; readonly nonce: string };

export interface EventPlace {
  /** As the agent's program names it. Tells its sessions apart, and proves nothing. */
  readonly session: string;
  /** Absolute. */
  readonly cwd: string;
  /** The same before and after, where the program has one. */
  readonly callId: string | undefined;
}

/** What a tool of an agent would do. */
export type AgentAct =
  | { readonly kind: 'shell'; readonly command: string; readonly cwd: string; readonly timeoutMs?: number }
  /** Absolute paths. */
  | { readonly kind: 'read' | 'write'; readonly paths: readonly string[] }
  | { readonly kind: 'fetch'; readonly url: string }
  | { readonly kind: 'upstream'; readonly server: string }
  /** One of Palyra's own, over MCP: decided there. */
  | { readonly kind: 'ours' }
  /** It only talks to the agent itself, or makes calls that are events of their own. */
  | { readonly kind: 'harmless' }
  | { readonly kind: 'unknown' };

/** What the agent's hook is to answer. */
export type AgentAnswer =
  /** Nothing against it. The agent's own rules go on as if nobody had been asked. */
  | { readonly kind: 'no_objection' }
  /**
   * Only of a shell: this command instead of its own, which is in the box already. With `ask` the agent's own program asks its
   * user first, in these words.
   */
  | { readonly kind: 'run_instead'; readonly command: string; readonly ask?: string }
  | { readonly kind: 'refused'; readonly reason: string };

/** What the hook's program does. */
export interface HookReply {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}
