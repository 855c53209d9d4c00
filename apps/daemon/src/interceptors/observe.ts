import { Code, ConnectError, type Interceptor } from '@connectrpc/connect';
import { AppError } from '@palyra/primitives';
import { type AuthenticatedPeer, PEER } from './peer-context.ts';
import { relayMessages } from './relay-messages.ts';
import { rpcName } from './rpc-actions.ts';

/** One call of the API, for logs, metrics and spans. Nothing of what it says is in it. */
export interface ObservedRpc {
  /** Such as `palyra.v1.ToolService.ListTools`. */
  readonly rpc: string;
  /** Undefined: nobody who counts. */
  readonly peer: AuthenticatedPeer | undefined;
  /** As the caller sent it, for putting spans together; proves nothing. */
  readonly traceparent: string | null;
}

/** Must not throw. */
export interface RpcObserver {
  /** Returns what is told how it ended: `ok`, one of our codes, or that of the protocol. */
  began(rpc: ObservedRpc): (code: string) => void;
}

/** Around everything else: what is told is what the caller is told. */
export function observe(observers: readonly RpcObserver[]): Interceptor {
  return (next) => async (request) => {
    const rpc = rpcName(request.method);
    const traceparent = request.header.get('traceparent');
    const ends = observers.map((each) => each.began({ rpc, peer: request.contextValues.get(PEER), traceparent }));
    let isTold = false;
    const tell = (code: string) => {
      if (isTold) return;
      isTold = true;
      for (const end of ends) end(code);
    };
    try {
      const response = await next(request);
      if (response.stream) return { ...response, message: following(response.message, tell) };
      tell('ok');
      return response;
    } catch (error) {
      tell(codeOf(error));
      throw error;
    }
  };
}

/** What has gone before the end was given up. */
function following<Each>(messages: AsyncIterable<Each>, tell: (code: string) => void): AsyncIterable<Each> {
  return relayMessages(messages, {
    ended: () => tell('ok'),
    failed(error) {
      tell(codeOf(error));
      return error;
    },
    left: () => tell('canceled'),
  });
}

export function codeOf(error: unknown): string {
  const { cause } = ConnectError.from(error);
  if (cause instanceof AppError) return cause.code;
  return Code[ConnectError.from(error).code].replaceAll(/(?<=[a-z])[A-Z]/g, '_$&').toLowerCase();
}
