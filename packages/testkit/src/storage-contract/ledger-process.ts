import { entryUrl } from '@palyra/primitives';
import { type AcknowledgingProcess, startAcknowledgingProcess } from '../acknowledging-process.ts';
import type { LedgerOptions } from './ledger-database.ts';

export interface LedgerProcessOptions {
  readonly location: LedgerOptions['location'];
  readonly label: string;
  readonly writers: number;
  readonly count: number;
}

/** Acknowledges the body of each entry. */
export function startLedgerProcess({ location, label, writers, count }: LedgerProcessOptions): AcknowledgingProcess {
  const script = entryUrl(import.meta.url, './ledger-writer');
  return startAcknowledgingProcess(script, [JSON.stringify(location), label, `${writers}`, `${count}`]);
}
