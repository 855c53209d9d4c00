import { systemClock, visibleText } from '@palyra/primitives';
import type { CommandDefinition } from '../command.ts';
import { resolvePath } from '../find-home.ts';
import { findJournal, writingJournal } from '../journal-home.ts';
import { wholeNumber } from '../option-values.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Fewer are left for the next time even with --now, or an idle log would archive nothing but its own archiving. */
const FEWEST = 8;

/** What is old moves to files, and stays under the same proofs. */
export const journalArchive: CommandDefinition = {
  name: 'journal archive',
  group: 'Journal',
  summary: 'Move old entries to files that still verify',
  details:
    'Seals what was written once it is much or old enough (journal.segment_entries, journal.segment_hours) and writes ' +
    'each sealed segment, bodies included, to a file in DIR that palyra verify checks. Archived segments older than ' +
    'journal.keep_days are then deleted from the database; hashes and keys stay, so the log verifies on. palyrad need ' +
    'not run.',
  arguments: [{ name: 'DIR', summary: 'Where the archives are', isRequired: true }],
  options: [
    { flags: '--now', summary: 'Seal what there is (8 entries or more)' },
    { flags: '--prune-older-than <D>', summary: 'Prune by D days instead of journal.keep_days' },
  ],
  async run({ arguments: [typed = ''], options }, context) {
    const days = wholeNumber(options['pruneOlderThan'], { name: '--prune-older-than', from: 0, to: 36_500 });
    const directory = resolvePath(typed, context);
    const { retention } = findJournal(context);
    const olderThanDays = days ?? (retention.keepDays > 0 ? retention.keepDays : undefined);
    return writingJournal(context, async ({ database, journal, bodyDirectory }, module) => {
      const deps = { database, append: journal.appendOwn, bodyDirectory, clock: systemClock };
      const entries = options['now'] === true ? FEWEST : retention.segmentEntries;
      await module.sealSegment(deps, { entries, ageMs: retention.segmentHours * HOUR_MS });
      const archived = await module.archiveSegments(deps, directory);
      const pruned =
        olderThanDays === undefined
          ? undefined
          : await module.pruneSegments(deps, { directory, olderThanMs: olderThanDays * DAY_MS });
      const next = pruned?.kind === 'pruned' ? pruned.next : null;
      return {
        json: { archived, pruned_before: next },
        render: () =>
          [
            ...archived.map(
              ({ first, next: end, path }) => `Archived entries ${first} to ${end - 1}: ${visibleText(path)}`,
            ),
            ...(archived.length === 0
              ? [
                  'There was nothing to archive: too little was written since the last segment, and it is not old enough.',
                ]
              : []),
            ...(next === null ? [] : [`Entries before ${next} are only in the archive now.`]),
            '',
          ].join('\n'),
      };
    });
  },
};
