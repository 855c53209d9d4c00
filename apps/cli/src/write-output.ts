import type { Writable } from 'node:stream';
import { CliError } from './cli-error.ts';

/** Of a pipe, and of a pair of sockets that is closed with something unread in it: whom Node starts has those. */
const UNREAD: ReadonlySet<unknown> = new Set(['EPIPE', 'ECONNRESET']);

/**
 * Resolves when the text was handed over, or when nobody reads any more: `palyra … | head` is not a failure.
 * Throws `cli.output_failed` when it was lost otherwise, such as on a full disk.
 */
export async function writeOutput(stream: Writable, text: string | Uint8Array): Promise<'written' | 'unread'> {
  if (text.length === 0) return 'written';
  const failure = await new Promise<Error | undefined>((resolve) => {
    stream.once('error', resolve);
    stream.write(text, (error) => {
      if (error == null) stream.off('error', resolve);
      resolve(error ?? undefined);
    });
  });
  if (failure === undefined) return 'written';
  if ('code' in failure && UNREAD.has(failure.code)) return 'unread';
  throw new CliError('cli.output_failed', 'The output could not be written.', {
    fix: 'Check where the output goes: the disk may be full.',
    cause: failure,
  });
}
