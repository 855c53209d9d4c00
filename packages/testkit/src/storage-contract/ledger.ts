import { createHash } from 'node:crypto';
import { entryUrl } from '@palyra/primitives';
import type { Migration, ProgramModule } from '@palyra/storage';
import type { SealSettings } from './seal-entries.ts';

/** The small schema that the storage contract is tried on. */
export interface LedgerSchema {
  accounts: { id: string; balance: number };
  entries: { seq: number; body: string; hash: string };
  specimens: { id: string; words: string | null; count: number | null; ratio: number | null; bytes: Uint8Array | null };
}

export const LEDGER_MIGRATIONS: readonly Migration[] = [
  {
    id: 'ledger/0001-tables',
    statements: (t) => [
      `create table accounts (id ${t.text} primary key, balance ${t.integer} not null check (balance >= 0))${t.strict}`,
      `create table entries (seq ${t.integer} primary key, body ${t.text} not null, hash ${t.text} not null)${t.strict}`,
    ],
  },
  {
    id: 'ledger/0002-specimens',
    statements: (t) => [
      `create table specimens (id ${t.text} primary key, words ${t.text}, count ${t.integer}, ratio ${t.real}, bytes ${t.bytes})${t.strict}`,
    ],
  },
];

export const LEDGER_PROGRAMS: readonly ProgramModule[] = [
  { name: 'ledger.append', module: entryUrl(import.meta.url, './append-entry').href },
  {
    name: 'ledger.seal',
    module: entryUrl(import.meta.url, './seal-entries').href,
    settings: { mark: 'seal' } satisfies SealSettings,
  },
];

export function chainHash(previous: string, body: string): string {
  return createHash('sha256').update(previous).update('\n').update(body).digest('hex');
}

/** The first entry that does not follow from the one before it, or undefined when the chain is whole. */
export function brokenLink(entries: readonly LedgerSchema['entries'][]): number | undefined {
  let previous = { seq: 0, hash: '' };
  for (const entry of entries) {
    if (entry.seq !== previous.seq + 1 || entry.hash !== chainHash(previous.hash, entry.body)) return entry.seq;
    previous = entry;
  }
  return undefined;
}
