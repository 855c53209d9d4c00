import type { ServerHttp2Stream } from 'node:http2';
import { type ContextKey, createContextKey } from '@connectrpc/connect';
import { DaemonError } from '../daemon-error.ts';

/**
 * The body of an answer that is a stream of messages, written past the library, in which every message goes through a dozen
 * async generators. Only for what follows the first message: with that the library answers, and the end is its own again.
 */
export interface MessageBody {
  /**
   * In one piece. Undefined when there is room for more, else resolves when there is, or when nobody is there any more. Throws
   * `daemon.too_large`.
   */
  write(messages: readonly Uint8Array[]): Promise<void> | undefined;
}

/** Set by the listener; undefined where messages are no plain bytes. */
export const MESSAGE_BODY: ContextKey<MessageBody | undefined> = createContextKey<MessageBody | undefined>(undefined, {
  description: 'what messages are written to',
});

/** gRPC, gRPC-web and Connect put the same five bytes before a message. */
const BINARY = /^application\/(?:grpc(?:-web)?(?:\+proto)?|connect\+proto)$/i;

export function isBinary(contentType: string | undefined): boolean {
  return BINARY.test(contentType ?? '');
}

/** Of one stream of HTTP/2. `most`: how many bytes a message has at most. */
export function createMessageBody(stream: ServerHttp2Stream, most: number): MessageBody {
  return new EnvelopedBody(stream, most);
}

const ENVELOPE_BYTES = 5;

/** A class: thousands of streams stand idle, and closures of each would take more than what they hold. */
class EnvelopedBody implements MessageBody {
  readonly #stream: ServerHttp2Stream;
  readonly #most: number;

  constructor(stream: ServerHttp2Stream, most: number) {
    this.#stream = stream;
    this.#most = most;
  }

  write(messages: readonly Uint8Array[]): Promise<void> | undefined {
    const stream = this.#stream;
    const bytes = enveloped(messages, this.#most);
    if (stream.destroyed || stream.writableEnded || stream.write(bytes)) return undefined;
    return hasRoom(stream);
  }
}

/** Each with a byte of flags, of which none is set, and its length. */
function enveloped(messages: readonly Uint8Array[], most: number): Buffer {
  const bytes = Buffer.allocUnsafe(messages.reduce((sum, { length }) => sum + ENVELOPE_BYTES + length, 0));
  let at = 0;
  for (const message of messages) {
    if (message.length > most) throw tooLarge(message.length);
    bytes[at] = 0;
    bytes.writeUInt32BE(message.length, at + 1);
    bytes.set(message, at + ENVELOPE_BYTES);
    at += ENVELOPE_BYTES + message.length;
  }
  return bytes;
}

function hasRoom(stream: ServerHttp2Stream): Promise<void> {
  return new Promise((resolve) => {
    const settle = () => {
      stream.off('drain', settle);
      stream.off('close', settle);
      resolve();
    };
    stream.once('drain', settle);
    stream.once('close', settle);
  });
}

function tooLarge(bytes: number): DaemonError {
  return new DaemonError('daemon.too_large', `What is to be told has ${bytes} bytes, and fits no message.`, {
    fix: 'An operator can raise limits.message_bytes.',
  });
}
