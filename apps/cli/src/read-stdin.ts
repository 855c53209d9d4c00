import type { CommandContext } from './command.ts';

/** One byte more than anything we read may have is enough to refuse it; an endless stream must not fill the memory. */
const ENOUGH_BYTES = 16 * 1024 * 1024 + 1;

/** Everything on standard input, up to a little over 16 MiB. Ctrl-C ends it. */
export async function readStdin({ openStdin, signal }: CommandContext): Promise<Uint8Array> {
  const stream = openStdin();
  const chunks: Uint8Array[] = [];
  let length = 0;
  const destroy = () => stream.destroy();
  signal.addEventListener('abort', destroy, { once: true });
  for await (const chunk of stream) {
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : (chunk as Uint8Array);
    chunks.push(bytes);
    length += bytes.length;
    if (length >= ENOUGH_BYTES) break;
  }
  signal.removeEventListener('abort', destroy);
  return Buffer.concat(chunks);
}
