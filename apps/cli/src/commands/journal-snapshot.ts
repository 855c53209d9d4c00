import { visibleText } from '@palyra/primitives';
import type { CommandDefinition } from '../command.ts';
import { readingJournal } from '../journal-home.ts';

/** Under which settings a call was decided. */
export const journalSnapshot: CommandDefinition = {
  name: 'journal snapshot',
  group: 'Journal',
  summary: 'Print the settings that a call was decided under',
  details:
    'Checks the policy snapshot against its digest first. palyra journal show --long has the digests, as ' +
    'policy_snapshot. palyrad need not run.',
  arguments: [{ name: 'DIGEST', summary: '64 digits, as the entry has them', isRequired: true }],
  async run({ arguments: [digest = ''] }, context) {
    const snapshot = await readingJournal(context, ({ readSnapshot }) => readSnapshot(digest));
    return {
      json: snapshot,
      render: () => `${visibleText(JSON.stringify(snapshot, null, 2), { newlines: 'keep' })}\n`,
    };
  },
};
