import type { EntryFilter, HomeJournal } from '@palyra/journal';
import { systemClock } from '@palyra/primitives';
import type { CommandDefinition } from '../command.ts';
import { readEntryFilter } from '../entry-filter.ts';
import { findJournal, type JournalModule, loadJournal } from '../journal-home.ts';
import { toFileOrStdout } from '../write-output-file.ts';

/** The log, or some of it, in a file that anybody can verify. */
export const journalExport: CommandDefinition = {
  name: 'journal export',
  group: 'Journal',
  summary: 'Write the log with its proofs, one JSON line each',
  details:
    'Without filters, the whole log; with filters, single entries with a proof for each. palyra verify checks both. ' +
    'Bodies (inputs, outputs, prompts) come only with --bodies: whoever has the export has them.',
  options: [
    { flags: '--run <ID>', summary: 'One run: its id, or the last 4 characters or more' },
    { flags: '--kind <KIND>', summary: 'One kind of entry; may be given again', isRepeatable: true },
    { flags: '--tool <NAME>', summary: 'One tool' },
    { flags: '--principal <WHO>', summary: 'One principal: agent:NAME, user:NAME' },
    { flags: '--outcome <WORD>', summary: 'Such as completed, refused, allow, deny' },
    { flags: '--since <TIME>', summary: 'Not before: 2026-11-16T08:00Z, or 2h, 7d ago' },
    { flags: '--until <TIME>', summary: 'Before this time' },
    { flags: '--log <ORIGIN>', summary: 'An older log: see palyra journal logs' },
    { flags: '--bodies', summary: 'With what was said' },
    { flags: '--out <FILE>', summary: 'A new file instead of standard output' },
  ],
  async run({ options }, context) {
    const wanted = readEntryFilter(options, systemClock.now());
    const { place } = findJournal(context);
    const journal = await loadJournal();
    const from: ExportFrom = { place, journal, bodies: options['bodies'] === true };
    return toFileOrStdout(
      exported(from, { wanted, run: options['run'], origin: options['log'] }),
      options['out'],
      context,
    );
  },
};

interface ExportFrom {
  readonly place: HomeJournal;
  readonly journal: JournalModule;
  readonly bodies: boolean;
}

/** Opens the journal for the first line, and closes it after the last, or when nobody wants more. */
async function* exported(
  { place, journal, bodies }: ExportFrom,
  { wanted, run: typed, origin }: { readonly wanted: EntryFilter; readonly run: unknown; readonly origin: unknown },
): AsyncGenerator<string> {
  const reader = await journal.openHomeForReading(place);
  try {
    const { database, bodyDirectory } = reader;
    const log = typeof origin === 'string' ? await journal.findLog(database.read, origin) : reader.log;
    const run =
      typeof typed === 'string' ? await journal.findId(database.read, { what: 'run', typed, log }) : undefined;
    const filter: EntryFilter = run === undefined ? wanted : { ...wanted, run };
    const options = Object.keys(filter).length === 0 ? { bodies, log } : { bodies, log, filter };
    yield* journal.writeExport({ read: database.read, bodyDirectory }, options);
  } finally {
    await reader.close();
  }
}
