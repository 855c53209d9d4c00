import type { Client as RpcClient } from '@connectrpc/connect';
import { OutputStream, type RunService } from '@palyra/api';
import { ClientError } from '../client-error.ts';
import { translateError } from '../connection/translate-error.ts';
import type { CallOutput } from './pending-call.ts';
import { type ToolCallResult, toToolCallResult } from './tool-call-result.ts';

export interface CollectOptions {
  readonly signal?: AbortSignal;
  onOutput(piece: Pick<CallOutput, 'stream' | 'data'>): void | Promise<void>;
}

/** Not tried again when the connection is lost: it runs once, and what is lost is lost. Throws `ClientError`. */
export async function collectCall(
  callId: string,
  { signal, onOutput }: CollectOptions,
  { rpc }: { readonly rpc: RpcClient<typeof RunService> },
): Promise<ToolCallResult> {
  try {
    const pieces = rpc.collectCall({ callId }, signal === undefined ? {} : { signal });
    for await (const { message } of pieces) {
      if (message.case === 'result') return toToolCallResult(message.value);
      if (message.case !== 'output') continue;
      const { stream, data } = message.value;
      await onOutput({ stream: stream === OutputStream.STDERR ? 'stderr' : 'stdout', data });
    }
  } catch (error) {
    throw translateError(error);
  }
  throw new ClientError('client.protocol', 'palyrad told no result.');
}
