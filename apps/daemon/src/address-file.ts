import { randomUUID } from 'node:crypto';
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { HomeLayout } from '@palyra/config';

/** Where this palyrad is found. Knowing it grants nothing: clients prove who they are. */
export interface DaemonAddress {
  readonly pid: number;
  readonly version: string;
  readonly address: string;
  readonly console?: string;
  readonly tokens?: string;
  readonly started_at: string;
}

/** `palyrad.json` in the home, whole or not at all. */
export function writeAddressFile(home: Pick<HomeLayout, 'root'>, address: DaemonAddress): void {
  const draft = join(home.root, `.palyrad-${randomUUID()}.json`);
  try {
    writeFileSync(draft, `${JSON.stringify(address)}\n`, { flag: 'wx', mode: 0o600 });
    renameSync(draft, addressFile(home));
  } finally {
    rmSync(draft, { force: true });
  }
}

/** Only our own: another palyrad may have come meanwhile. */
export function removeAddressFile(home: Pick<HomeLayout, 'root'>, { pid }: Pick<DaemonAddress, 'pid'>): void {
  const file = addressFile(home);
  try {
    if (Object(JSON.parse(readFileSync(file, 'utf8'))).pid !== pid) return;
  } catch {
    // What cannot be read leads nobody anywhere.
  }
  rmSync(file, { force: true });
}

function addressFile({ root }: Pick<HomeLayout, 'root'>): string {
  return join(root, 'palyrad.json');
}
