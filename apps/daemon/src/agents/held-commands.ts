import { GatewayError, type ToolCallResult } from '@palyra/gateway';
import type { Clock } from '@palyra/primitives';
import type { OutputChannel } from './output-channel.ts';

/** A command that was permitted, and waits for the agent that was told so. */
export interface HeldCommand {
  /** Whose it is: nobody else can come for it. */
  readonly credential: string;
  readonly output: OutputChannel;
  /** When it has ended, whichever way. */
  readonly result: Promise<ToolCallResult>;
  cancel(): void;
}

export interface HeldCommands {
  /** For the gateway's `collected`: true when somebody came, false when nobody did in time. */
  hold(callId: string, command: HeldCommand, signal: AbortSignal): Promise<boolean>;
  /** Throws `gateway.call_not_found`, also for another credential's. */
  collect(callId: string, credential: string): HeldCommand;
  /** Nobody comes for any of them any more, nor for later ones. */
  close(): void;
}

/** The agent's own program may ask its user before it runs what it was given. */
const PATIENCE_MS = 10 * 60_000;

export function createHeldCommands({ clock }: { readonly clock: Clock }): HeldCommands {
  const held = new Map<string, { readonly command: HeldCommand; come(): void; giveUp(): void }>();
  let isClosed = false;
  return {
    async hold(callId, command, signal) {
      if (signal.aborted || isClosed) return false;
      const over = new AbortController();
      const came = Promise.withResolvers<boolean>();
      const giveUp = () => came.resolve(false);
      held.set(callId, { command, come: () => came.resolve(true), giveUp });
      signal.addEventListener('abort', giveUp, { once: true });
      clock.sleep(PATIENCE_MS, over.signal).then(giveUp, () => undefined);
      try {
        return await came.promise;
      } finally {
        held.delete(callId);
        over.abort('over');
        signal.removeEventListener('abort', giveUp);
      }
    },
    collect(callId, credential) {
      const found = held.get(callId);
      // SECURITY: T-41 — whoever learned the id of another one's command finds nothing.
      if (found === undefined || found.command.credential !== credential) {
        throw new GatewayError('gateway.call_not_found', 'No such command waits for this credential.', {
          fix: 'Each runs once, for whoever comes first. Propose it again.',
        });
      }
      // SECURITY: T-05 — once: the second one finds nothing, however close behind it comes.
      held.delete(callId);
      found.come();
      return found.command;
    },
    close() {
      isClosed = true;
      for (const { giveUp } of held.values()) giveUp();
    },
  };
}
