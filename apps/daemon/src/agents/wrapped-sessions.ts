import type { Duplex } from 'node:stream';
import type { AgentRunDeps, Caller, OpenedSession, PermittedCall } from '@palyra/gateway';
import { DaemonError } from '../daemon-error.ts';

/** One agent in its box: whoever comes in by that box's listener is this caller, and no other. */
export interface WrappedAgentSession {
  readonly caller: Caller & { readonly isBoxed: true };
  readonly call: PermittedCall;
  /** The name of its profile. */
  readonly profile: string;
}

/** Who answers agents in boxes; there is nobody before palyrad listens. */
export interface WrappedSessions extends Pick<AgentRunDeps, 'openSession'> {
  answerWith(open: (session: WrappedAgentSession) => Promise<OpenedSession>): void;
}

export function createWrappedSessions(): WrappedSessions {
  let open: ((session: WrappedAgentSession) => Promise<OpenedSession>) | undefined;
  return {
    answerWith(given) {
      open = given;
    },
    async openSession(call, profile) {
      if (open === undefined) throw new DaemonError('daemon.stopping', 'palyrad does not listen to agents in boxes.');
      return open({ caller: boxedCaller(call), call, profile });
    },
  };
}

/**
 * SECURITY: T-06, T-36, T-40 — of kind agent, for this session alone, and in no file: the listener that palyrad got from the
 * box is the credential. It is neither the device that began the run nor anybody who could answer a question.
 */
function boxedCaller({ id, run }: PermittedCall): WrappedAgentSession['caller'] {
  const { deviceId: _, ...caller } = run.caller;
  return { ...caller, credential: `wrap_${id}`, coverage: 'wrapped', isBoxed: true };
}

/** What is handed a connection that was made in the box. */
export type Door = (connection: Duplex) => void;
