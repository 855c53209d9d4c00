import type { MessageInitShape } from '@bufbuild/protobuf';
import type { HandlerContext } from '@connectrpc/connect';
import { type CollectCallRequest, type CollectCallResponseSchema, OutputStream } from '@palyra/api';
import { parseId } from '@palyra/primitives';
import type { AgentSessions } from '../agents/agent-sessions.ts';
import { peerOf } from '../interceptors/peer-context.ts';
import { wireToolCallResult } from '../wire/tool-call-result.ts';

export interface CollectCallDeps {
  readonly agentSessions: Pick<AgentSessions, 'collect'>;
  /** How many bytes of output a message takes. */
  readonly room: number;
}

type Told = MessageInitShape<typeof CollectCallResponseSchema>;

const STREAMS = { stdout: OutputStream.STDOUT, stderr: OutputStream.STDERR } as const;

/** What the agent's shell runs instead of its command: it brings an id, is told what comes out, and ends it by leaving. */
export async function* collectCall(
  { callId }: CollectCallRequest,
  context: HandlerContext,
  { agentSessions, room }: CollectCallDeps,
): AsyncGenerator<Told, void, undefined> {
  const peer = peerOf(context);
  const credential = peer.via === 'certificate' ? peer.device : peer.token;
  const { output, result, cancel } = agentSessions.collect(parseId('call', callId), credential);
  context.signal.addEventListener('abort', cancel, { once: true });
  const offsets = { stdout: 0, stderr: 0 };
  try {
    for await (const { stream, bytes } of output.pieces()) {
      for (let from = 0; from < bytes.length; from += room) {
        const data = bytes.subarray(from, from + room);
        yield {
          message: { case: 'output', value: { stream: STREAMS[stream], data, offset: BigInt(offsets[stream]) } },
        };
        offsets[stream] += data.length;
      }
    }
    yield { message: { case: 'result', value: wireToolCallResult(await result, room) } };
  } finally {
    context.signal.removeEventListener('abort', cancel);
    // Whoever left before the end does not want it any more; after it there is nothing to end.
    cancel();
  }
}
