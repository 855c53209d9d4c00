import { join } from 'node:path';
import { APPROVAL_MIGRATIONS, type ApprovalsSchema, approvalPrograms } from '@palyra/approvals';
import type { Config, HomeLayout } from '@palyra/config';
import { GATEWAY_MIGRATIONS, type GatewaySchema, gatewayPrograms } from '@palyra/gateway';
import { IDENTITY_MIGRATIONS, type IdentitySchema } from '@palyra/identity';
import { JOURNAL_MIGRATIONS, type JournalSchema, journalPrograms } from '@palyra/journal';
import { type Logger, reveal } from '@palyra/primitives';
import { type Database, type DatabaseOptions, holdLock, openDatabase, StorageError } from '@palyra/storage';

export type DaemonSchema = JournalSchema & ApprovalsSchema & GatewaySchema & IdentitySchema;

export interface StoragePlace {
  readonly home: HomeLayout;
  readonly config: Pick<Config, 'storage'>;
}

export function openStorage(
  { home, config: { storage } }: StoragePlace,
  logger: Logger,
): Promise<Database<DaemonSchema>> {
  const location: DatabaseOptions['location'] =
    storage.url === undefined
      ? { kind: 'sqlite', path: home.database }
      : { kind: 'postgres', url: reveal(storage.url), poolSize: storage.pool_size };
  return openDatabase<DaemonSchema>({
    location,
    migrations: [...JOURNAL_MIGRATIONS, ...APPROVAL_MIGRATIONS, ...GATEWAY_MIGRATIONS, ...IDENTITY_MIGRATIONS],
    programs: [...journalPrograms(home.identity), ...approvalPrograms(), ...gatewayPrograms()],
    lockTimeoutMs: storage.lock_timeout_ms,
    logger,
  });
}

/** Throws `storage.locked` while another palyrad has the home. */
export function lockHome(home: HomeLayout): ReturnType<typeof holdLock> {
  try {
    return holdLock(join(home.root, 'palyrad.lock'));
  } catch (error) {
    if (!(error instanceof StorageError) || error.code !== 'storage.locked') throw error;
    throw new StorageError('storage.locked', 'Another palyrad runs on this home.', {
      fix: 'Use that one, or stop it first; or give this one a home of its own with --home.',
      cause: error,
    });
  }
}
