import type { CommandDefinition } from '../command.ts';
import { confirm } from '../confirm.ts';
import { CLI_ACTOR, writingJournal } from '../journal-home.ts';

/** One body, for good. What the log says about it stays. */
export const journalErase: CommandDefinition = {
  name: 'journal erase',
  group: 'Journal',
  summary: 'Erase one body for good; its commitment stays',
  details:
    'Bodies are inputs, outputs and prompts. The log still verifies, and says that this one was erased. Exports, ' +
    'bundles, archives and backups made before still hold it, and so do the write-ahead log and the backups of a ' +
    'PostgreSQL server. palyrad need not run; the card of a question whose prompt is erased goes within a minute of ' +
    'its running.',
  arguments: [{ name: 'COMMITMENT', summary: '64 digits, as the entry has them', isRequired: true }],
  options: [{ flags: '--yes', summary: 'Do not ask' }],
  async run({ arguments: [commitment = ''], options }, context) {
    await confirm(
      { explanation: 'The body is erased and cannot be brought back.', isGiven: options['yes'] === true },
      context,
    );
    return writingJournal(context, async ({ journal }, { parseActor }) => {
      await journal.erase(parseActor(CLI_ACTOR), commitment, 'operator');
      return { json: { erased: commitment }, render: () => 'The body is erased.\n' };
    });
  },
};
