import { visibleText } from '@palyra/primitives';
import type { CommandDefinition } from '../command.ts';
import { readingJournal } from '../journal-home.ts';
import { toFile } from '../write-output-file.ts';

/** What was said, as it was said. */
export const journalBody: CommandDefinition = {
  name: 'journal body',
  group: 'Journal',
  summary: 'Print a body: an input, an output or a prompt',
  details:
    'Checks it against its commitment first. A pipe or a file gets the bytes as they are; a terminal gets text that ' +
    'cannot act on it. palyra journal show --long has the commitments. palyrad need not run.',
  arguments: [{ name: 'COMMITMENT', summary: '64 digits, as the entry has them', isRequired: true }],
  options: [{ flags: '--out <FILE>', summary: 'A new file instead of standard output' }],
  async run({ arguments: [commitment = ''], options }, context) {
    const { bytes, totalBytes } = await readingJournal(context, ({ readBody }) => readBody(commitment));
    const { out } = options;
    if (typeof out === 'string') return toFile(once(bytes), out, context);
    const rest = totalBytes - bytes.length;
    const cutOff = `${rest} more bytes were cut off when it was recorded.`;
    return {
      json: { commitment, bytes: bytes.length, total_bytes: totalBytes, body: Buffer.from(bytes).toString('base64') },
      // SECURITY: T-08 — somebody else chose these bytes, and a terminal would obey them.
      render: () => `${visibleText(new TextDecoder().decode(bytes), { newlines: 'keep' })}\n`,
      bytes,
      warnings: rest > 0 ? [cutOff] : [],
    };
  },
};

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
