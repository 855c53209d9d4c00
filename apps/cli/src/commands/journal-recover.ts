import { visibleText } from '@palyra/primitives';
import type { CommandDefinition } from '../command.ts';
import { confirm } from '../confirm.ts';
import { findJournal, loadJournal, SILENT } from '../journal-home.ts';

const EXPLANATION =
  'The log that is in the database ends here and is kept. A new log begins, under a new name, whose first entry names ' +
  'the old one with its size and root, so that nobody can take one for the other. Witnesses meet it as a new log. Do ' +
  'this after an older copy of the database was put back; stop palyrad first.';

const NEW_ROOT_KEY =
  'Everybody who pinned the old root key must pin this one, and should hear of it from you and not from the log.';

/** After a restored backup: the honest way to go on. */
export const journalRecover: CommandDefinition = {
  name: 'journal recover',
  group: 'Journal',
  summary: 'Begin a new log after a backup was restored',
  details: `${EXPLANATION} Needs the root key of the old log in the identity directory of the home.`,
  options: [
    { flags: '--new-root-key', summary: 'If the root key is lost: others must pin the new one' },
    { flags: '--yes', summary: 'Do not ask' },
  ],
  async run({ options }, context) {
    const { place, warnings } = findJournal(context);
    const { recoverHome } = await loadJournal();
    const mayMake = options['newRootKey'] === true;
    const explanation = mayMake ? `${EXPLANATION} ${NEW_ROOT_KEY}` : EXPLANATION;
    await confirm({ explanation, isGiven: options['yes'] === true }, context);
    const { origin, previous, newRootKey } = await recoverHome(place, SILENT, { newRootKey: mayMake });
    return {
      json: { origin, previous: previous ?? null, new_root_key: newRootKey ?? null, warnings },
      render: () =>
        `The log is now ${visibleText(origin)}.\n` +
        (previous === undefined
          ? 'There was no old log in the database to name.\n'
          : `Its first entry names ${visibleText(previous)}, which ends here and is kept.\n`) +
        (newRootKey === undefined ? '' : `Its root key is new:\n  ${newRootKey}\n${NEW_ROOT_KEY}\n`),
      warnings,
    };
  },
};
