import type { EntryFilter, EntryPage, JournalEntry, PageRequest } from '@palyra/journal';
import { canonicalJson, type JsonValue, systemClock, visibleText } from '@palyra/primitives';
import type { CommandDefinition } from '../command.ts';
import { readEntryFilter } from '../entry-filter.ts';
import { readingJournal } from '../journal-home.ts';
import { wholeNumber } from '../option-values.ts';
import type { Paint } from '../render/paint.ts';
import { renderColumns } from '../render/table.ts';

/** What happened, one line for each entry. */
export const journalShow: CommandDefinition = {
  name: 'journal show',
  group: 'Journal',
  summary: 'Show what is recorded, one line for each entry',
  arguments: [{ name: 'RUN', summary: 'One run: its id, or the last 4 characters or more', isRequired: false }],
  options: [
    { flags: '--kind <KIND>', summary: 'Such as decision or outcome; may be given again', isRepeatable: true },
    { flags: '--tool <NAME>', summary: 'One tool' },
    { flags: '--principal <WHO>', summary: 'One principal: agent:NAME, user:NAME' },
    { flags: '--outcome <WORD>', summary: 'Such as completed, refused, allow, deny' },
    { flags: '--since <TIME>', summary: 'Not before: 2026-11-16T08:00Z, or 2h, 7d ago' },
    { flags: '--until <TIME>', summary: 'Before this time' },
    { flags: '--limit <COUNT>', summary: 'Entries on one page, 1 to 1000 (100)' },
    { flags: '--cursor <SEQ>', summary: 'Go on after this entry; a page names the next one' },
    { flags: '--newest', summary: 'The newest entries first' },
    { flags: '--long', summary: 'With the data: see palyra journal body, snapshot' },
    { flags: '--log <ORIGIN>', summary: 'An older log: see palyra journal logs' },
  ],
  async run({ arguments: [run], options }, context) {
    const limit = wholeNumber(options['limit'], { name: '--limit', from: 1, to: 1000 });
    const cursor = wholeNumber(options['cursor'], { name: '--cursor', from: 0, to: Number.MAX_SAFE_INTEGER });
    const filter = readEntryFilter(options, systemClock.now());
    const { log: typed } = options;
    return readingJournal(context, async ({ database, log: current }, { findId, findLog, queryEntries }) => {
      const log = typeof typed === 'string' ? await findLog(database.read, typed) : current;
      const page: EntryPage = await queryEntries(database.read, log, {
        ...filter,
        ...(run === undefined ? {} : { run: await findId(database.read, { what: 'run', typed: run, log }) }),
        ...(limit === undefined ? {} : { limit }),
        ...(cursor === undefined ? {} : { cursor }),
        order: options['newest'] === true ? 'newest first' : 'oldest first',
      } satisfies EntryFilter & PageRequest);
      return {
        json: { origin: log.origin, size: log.size, entries: page.entries, next: page.next ?? null },
        render: (paint) => renderPage(page, paint, { isLong: options['long'] === true }),
      };
    });
  },
};

function renderPage({ entries, next }: EntryPage, paint: Paint, { isLong }: { readonly isLong: boolean }): string {
  if (entries.length === 0) return 'There are no such entries.\n';
  const rows = entries.map((entry) => [
    new Date(entry.time).toISOString(),
    String(entry.seq),
    entry.kind,
    visibleText(entry.actor),
    field(entry, 'tool'),
    field(entry, 'outcome') || field(entry, 'decision') || field(entry, 'change'),
    lastOf(field(entry, 'run_id')),
    lastOf(field(entry, 'call_id')),
  ]);
  const [heading = '', ...lines] = renderColumns([
    ['TIME', 'SEQ', 'KIND', 'ACTOR', 'TOOL', 'OUTCOME', 'RUN', 'CALL'],
    ...rows,
  ]);
  const more = next === undefined ? [] : ['', `There are more: go on with --cursor ${next}.`];
  const shown = isLong ? lines.flatMap((line, at) => [line, dataLine(entries[at])]) : lines;
  return [paint('title', heading), ...shown, ...more, ''].join('\n');
}

function dataLine(entry: JournalEntry | undefined): string {
  return `  ${visibleText(canonicalJson((entry?.data ?? {}) as JsonValue))}`;
}

function field(entry: JournalEntry, name: string): string {
  const value = (entry.data as Readonly<Record<string, unknown>>)[name];
  return typeof value === 'string' ? visibleText(value) : '';
}

const SHOWN_OF_ID = 6;

/** Enough to tell ids apart, and to give them back. */
function lastOf(id: string): string {
  return id.slice(-SHOWN_OF_ID);
}
