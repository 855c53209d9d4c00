import { type Database, type Migration, openDatabase } from '@palyra/storage';

export interface GrantsSchema {
  grants: { id: string; used_by: string | null };
}

const MIGRATION: Migration = {
  id: 'demo/0001-grants',
  statements: (t) => [`create table grants (id ${t.text} primary key, used_by ${t.text})${t.strict}`],
};

/** A small database of the demo's own: the approvals package will have the real one. */
export function openGrants(path: string): Promise<Database<GrantsSchema>> {
  return openDatabase<GrantsSchema>({
    location: { kind: 'sqlite', path },
    migrations: [MIGRATION],
    programs: [],
    lockTimeoutMs: 5_000,
    logger: { error: (_fields, message) => process.stderr.write(`${message}\n`) },
  });
}
