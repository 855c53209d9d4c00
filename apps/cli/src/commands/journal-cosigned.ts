import { visibleText } from '@palyra/primitives';
import type { CommandDefinition } from '../command.ts';
import { CLI_ACTOR, writingJournal } from '../journal-home.ts';
import { readInputFile } from '../read-input-file.ts';

/** The log's side of being witnessed. */
export const journalCosigned: CommandDefinition = {
  name: 'journal cosigned',
  group: 'Journal',
  summary: "Put a witness's answer into the log",
  details:
    'Checks that the witness saw this very log and appends its cosignature, where palyra verify --witness finds it. ' +
    'A witness with a key of the log itself is refused. palyrad need not run.',
  arguments: [{ name: 'FILE', summary: 'What palyra journal cosign printed; - is stdin', isRequired: true }],
  async run({ arguments: [file = ''] }, context) {
    const text = await readInputFile(file, context);
    return writingJournal(context, async ({ database, log, proofs, journal }, { parseActor, recordCosignature }) => {
      const deps = { read: database.read, log, proofs, append: journal.appendOwn };
      const recorded = await recordCosignature(text, parseActor(CLI_ACTOR), deps);
      const { kind, seq, size, witness, time } = recorded;
      const when = new Date(time * 1000).toISOString();
      return {
        json: { recorded: kind === 'recorded', seq, size, witness, time },
        render: () =>
          `${visibleText(witness)} saw this log at size ${size}, ${when}: ${kind === 'recorded' ? 'recorded as' : 'already'} entry ${seq}.\n`,
      };
    });
  },
};
