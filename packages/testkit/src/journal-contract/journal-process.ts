import { entryUrl } from '@palyra/primitives';
import { type AcknowledgingProcess, startAcknowledgingProcess } from '../acknowledging-process.ts';
import type { JournalPlace } from './journal-home.ts';

export interface JournalProcessOptions {
  readonly place: JournalPlace;
  readonly writers: number;
  /** How often each of them appends. */
  readonly count: number;
}

/** Acknowledges `SEQ HASH` of each entry. */
export function startJournalProcess({ place, writers, count }: JournalProcessOptions): AcknowledgingProcess {
  const { location, directory } = place;
  const script = entryUrl(import.meta.url, './journal-writer');
  return startAcknowledgingProcess(script, [JSON.stringify({ location, directory }), `${writers}`, `${count}`]);
}
