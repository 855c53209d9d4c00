import { Code, ConnectError, type Interceptor } from '@connectrpc/connect';
import { AppError } from '@palyra/primitives';
import { type AuthenticatedPeer, PEER } from './peer-context.ts';
import { type MessageHooks, relayMessages } from './relay-messages.ts';
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
    const followed = new FollowedRpc(ends);
    try {
      const response = await next(request);
      if (response.stream) return { ...response, message: relayMessages(response.message, followed) };
      followed.ended();
      return response;
    } catch (error) {
      followed.failed(error);
      throw error;
    }
  };
}

/** Tells how it ended, once. A class, so that an idle stream has one object of it and no closures. */
class FollowedRpc implements MessageHooks<unknown> {
  #ends: readonly ((code: string) => void)[];

  constructor(ends: readonly ((code: string) => void)[]) {
    this.#ends = ends;
  }

  ended(): void {
    this.#tell('ok');
  }

  failed(error: unknown): unknown {
    this.#tell(codeOf(error));
    return error;
  }

  /** What has gone before the end was given up. */
  left(): void {
    this.#tell('canceled');
  }

  #tell(code: string): void {
    const ends = this.#ends;
    this.#ends = [];
    for (const end of ends) end(code);
  }
}

export function codeOf(error: unknown): string {
  const { cause } = ConnectError.from(error);
  if (cause instanceof AppError) return cause.code;
  return Code[ConnectError.from(error).code].replaceAll(/(?<=[a-z])[A-Z]/g, '_$&').toLowerCase();
}
