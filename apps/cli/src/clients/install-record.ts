import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { HomeLayout } from '@palyra/config';

/** What was changed for an agent, so that it can be changed back to the last byte. */
export interface InstallRecord {
  readonly client: string;
  readonly files: readonly RecordedFile[];
}

export interface RecordedFile {
  readonly path: string;
  /** Null: there was none. */
  readonly before: string | null;
  readonly after: string;
  /** Directories that were made for it. */
  readonly made: readonly string[];
}

export function readRecord(home: HomeLayout, client: string): InstallRecord | undefined {
  try {
    return JSON.parse(readFileSync(fileOf(home, client), 'utf8')) as InstallRecord;
  } catch (error) {
    if (Object(error).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Before the files are touched: what was in them is never only in memory. */
export function writeRecord(home: HomeLayout, record: InstallRecord): void {
  mkdirSync(join(home.root, 'clients'), { recursive: true, mode: 0o700 });
  writeFileSync(fileOf(home, record.client), `${JSON.stringify(record, null, 2)}\n`, { mode: 0o600 });
}

export function removeRecord(home: HomeLayout, client: string): void {
  rmSync(fileOf(home, client), { force: true });
}

function fileOf({ root }: HomeLayout, client: string): string {
  return join(root, 'clients', `${client}.json`);
}
