import type { CommandDefinition } from '../command.ts';
import { readingJournal } from '../journal-home.ts';
import { toFileOrStdout } from '../write-output-file.ts';

/** One call, in one file that verifies alone. */
export const journalBundle: CommandDefinition = {
  name: 'journal bundle',
  group: 'Journal',
  summary: 'Write one file that proves one call',
  details:
    'The attestation with its signature, the checkpoint, the proof that the one is under the other, the keys and the ' +
    'salts. palyra verify FILE checks it, and so does the standalone verifier, with nothing but Node or a browser. ' +
    'It proves what this daemon on this host stated, and that the log has it. palyrad need not run.',
  arguments: [{ name: 'CALL', summary: 'Its id, or the last 4 characters or more', isRequired: true }],
  options: [
    { flags: '--bodies', summary: 'With the input and the output of the call' },
    { flags: '--out <FILE>', summary: 'A new file instead of standard output' },
  ],
  async run({ arguments: [typed = ''], options }, context) {
    const text = await readingJournal(context, async ({ database, bodyDirectory }, { findId, makeBundle }) => {
      const call = await findId(database.read, { what: 'call', typed });
      return makeBundle({ read: database.read, bodyDirectory }, call, { bodies: options['bodies'] === true });
    });
    return toFileOrStdout(once(text), options['out'], context);
  },
};

async function* once(text: string): AsyncGenerator<string> {
  yield text.endsWith('\n') ? text : `${text}\n`;
}
