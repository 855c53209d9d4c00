import { systemClock, visibleText } from '@palyra/primitives';
import type { CommandDefinition } from '../command.ts';
import { resolvePath } from '../find-home.ts';
import { writingJournal } from '../journal-home.ts';
import { wholeNumber } from '../option-values.ts';

const DAY_MS = 86_400_000;
/** Fewer are left for the next time, or an idle log would archive nothing but its own archiving. */
const ENOUGH = { entries: 8, ageMs: DAY_MS };

/** What is old moves to files, and stays under the same proofs. */
export const journalArchive: CommandDefinition = {
  name: 'journal archive',
  group: 'Journal',
  summary: 'Move old entries to files that still verify',
  details:
    'Seals what was written (8 entries or more, or a day old) and writes each sealed segment, bodies included, to a ' +
    'file in DIR that palyra verify checks. With --prune-older-than, archived segments are then deleted from the ' +
    'database; hashes and keys stay, so the log verifies on, and proofs reach back. palyrad need not run.',
  arguments: [{ name: 'DIR', summary: 'Where the archives are', isRequired: true }],
  options: [{ flags: '--prune-older-than <D>', summary: 'Delete archived segments older than D days' }],
  async run({ arguments: [typed = ''], options }, context) {
    const days = wholeNumber(options['pruneOlderThan'], { name: '--prune-older-than', from: 0, to: 36_500 });
    const directory = resolvePath(typed, context);
    return writingJournal(context, async ({ database, journal, bodyDirectory }, module) => {
      const deps = { database, append: journal.append, bodyDirectory, clock: systemClock };
      await module.sealSegment(deps, ENOUGH);
      const archived = await module.archiveSegments(deps, directory);
      const pruned =
        days === undefined ? undefined : await module.pruneSegments(deps, { directory, olderThanMs: days * DAY_MS });
      const next = pruned?.kind === 'pruned' ? pruned.next : null;
      return {
        json: { archived, pruned_before: next },
        render: () =>
          [
            ...archived.map(
              ({ first, next: end, path }) => `Archived entries ${first} to ${end - 1}: ${visibleText(path)}`,
            ),
            ...(archived.length === 0 ? ['There was nothing to archive.'] : []),
            ...(next === null ? [] : [`Entries before ${next} are only in the archive now.`]),
            '',
          ].join('\n'),
      };
    });
  },
};
