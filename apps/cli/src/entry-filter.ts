import type { EntryFilter, EntryKind } from '@palyra/journal';
import type { CommandInput } from './command.ts';
import { momentOf } from './option-values.ts';

/** The options that `journal show` and `journal export` share. Whether a kind exists, the journal says. */
export function readEntryFilter(options: CommandInput['options'], now: number): EntryFilter {
  const kinds = options['kind'] as readonly EntryKind[] | undefined;
  const since = momentOf(options['since'], '--since', now);
  const until = momentOf(options['until'], '--until', now);
  return {
    ...(kinds === undefined || kinds.length === 0 ? {} : { kinds }),
    ...given('tool', options['tool']),
    ...given('principal', options['principal']),
    ...given('outcome', options['outcome']),
    ...(since === undefined ? {} : { since }),
    ...(until === undefined ? {} : { until }),
  };
}

function given<Name extends string>(name: Name, value: unknown): Partial<Record<Name, string>> {
  return typeof value === 'string' ? ({ [name]: value } as Record<Name, string>) : {};
}
