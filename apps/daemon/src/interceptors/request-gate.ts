import type { HandlerContext } from '@connectrpc/connect';
import type { Logger } from '@palyra/primitives';
import { DaemonError } from '../daemon-error.ts';
import type { Authenticate } from './authenticate.ts';
import { type Authorizer, actionOf } from './authorize.ts';
import type { PrincipalLimits } from './limit.ts';
import { toConnectError } from './map-errors.ts';
import { codeOf, type RpcObserver } from './observe.ts';
import { PEER } from './peer-context.ts';
import { rpcName } from './rpc-actions.ts';

export interface GateDeps {
  readonly authenticate: Authenticate;
  readonly authorizer: Pick<Authorizer, 'requireCall'>;
  readonly limits: Pick<PrincipalLimits, 'enter'>;
  /** Aborted when palyrad ends. */
  readonly stopping: AbortSignal;
  readonly logger: Pick<Logger, 'error'>;
  /** Told of whoever does not get in; of the others they are told when it is known how that ended. */
  readonly observers: readonly RpcObserver[];
}

/** Before anything of a message is read: who calls, how much, and whether they may. */
export function createRequestGate(deps: GateDeps): (context: HandlerContext) => Promise<void> {
  const { authenticate, authorizer, limits, stopping, logger, observers } = deps;
  const pass = async (context: HandlerContext): Promise<void> => {
    if (stopping.aborted) throw new DaemonError('daemon.stopping', 'palyrad is ending and takes no more work.');
    const call = actionOf(context.method);
    const peer = await authenticate(context, call.action);
    const entered = limits.enter(peer);
    // The signal is aborted at every end of a call, the good ones included.
    if (context.signal.aborted) entered.leave();
    else context.signal.addEventListener('abort', () => entered.leave(), { once: true });
    authorizer.requireCall(peer, call);
  };
  return async (context) => {
    try {
      await pass(context);
    } catch (thrown) {
      const error = toConnectError(thrown, logger);
      const refused = { rpc: rpcName(context.method), peer: context.values.get(PEER), traceparent: null };
      for (const each of observers) each.began(refused)(codeOf(error));
      throw error;
    }
  };
}
