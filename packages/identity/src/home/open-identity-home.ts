import { existsSync } from 'node:fs';
import type { Clock, Logger } from '@palyra/primitives';
import {
  type Database,
  type DatabaseOptions,
  type Migration,
  openDatabase,
  openForReading,
  StorageError,
} from '@palyra/storage';
import { IdentityError } from '../identity-error.ts';
import type { Device } from '../registry/device.ts';
import type { CommitIdentity } from '../registry/identity-record.ts';
import { IDENTITY_MIGRATIONS, type IdentitySchema } from '../registry/identity-schema.ts';
import { listDevices, openRegistry, type Registry } from '../registry/open-registry.ts';
import { listTokens } from '../tokens/open-tokens.ts';
import type { Token } from '../tokens/token.ts';

/** Where a home keeps its devices. For tools that look after them without a daemon, and know nothing of storage. */
export interface IdentityHome {
  readonly location: DatabaseOptions['location'];
  readonly lockTimeoutMs: number;
}

export interface OpenedIdentityHome {
  readonly registry: Registry;
  close(): Promise<void>;
}

export interface OpenIdentityOptions {
  readonly logger: Pick<Logger, 'error'>;
  readonly clock?: Clock;
  /** Makes what is missing. Others that this tool knows of may be in the same database. */
  readonly create?: { readonly alsoKnown: readonly Migration[] };
}

/** What a tool needs that only looks: it takes no lock that a writer would wait for. */
export interface IdentityReader {
  devices(): Promise<readonly Device[]>;
  tokens(): Promise<readonly Token[]>;
  close(): Promise<void>;
}

/** Changes nothing, and waits for nobody. Throws `identity.not_initialised`, `StorageError`. */
export async function readIdentityHome(home: IdentityHome): Promise<IdentityReader> {
  if (isAbsent(home)) throw notInitialised();
  const database = await openForReading<IdentitySchema>(home);
  if (!(await hasTables(database))) {
    await database.close();
    throw notInitialised();
  }
  return {
    devices: () => listDevices(database),
    tokens: () => listTokens(database),
    close: () => database.close(),
  };
}

/** palyrad may run at the same time. Throws `identity.not_initialised`, `StorageError`. */
export async function openIdentityHome(home: IdentityHome, options: OpenIdentityOptions): Promise<OpenedIdentityHome> {
  const { clock } = options;
  const database = await open(home, options);
  const registry = openRegistry({ database, ...(clock === undefined ? {} : { clock }) });
  return { registry, close: () => database.close() };
}

/** The registry on a database that somebody else opened, such as the journal's, which records what is changed. */
export function registryOn(
  database: unknown,
  options: { readonly commit: CommitIdentity; readonly clock?: Clock },
): Registry {
  return openRegistry({ database: database as Database<IdentitySchema>, ...options });
}

async function open(home: IdentityHome, { logger, create }: OpenIdentityOptions): Promise<Database<IdentitySchema>> {
  const isNew = isAbsent(home);
  if (isNew && create === undefined) throw notInitialised();
  if (!isNew) {
    const found = await openDatabase<IdentitySchema>({ ...home, migrations: 'as found', programs: [], logger });
    if (await hasTables(found)) return found;
    await found.close();
    if (create === undefined) throw notInitialised();
  }
  const alsoKnown = isNew ? [] : (create?.alsoKnown ?? []);
  const migrations = [...alsoKnown, ...IDENTITY_MIGRATIONS];
  return openDatabase<IdentitySchema>({ ...home, migrations, programs: [], logger });
}

function isAbsent({ location }: IdentityHome): boolean {
  return location.kind === 'sqlite' && !existsSync(location.path);
}

async function hasTables(database: Pick<Database<IdentitySchema>, 'read'>): Promise<boolean> {
  try {
    await database.read.selectFrom('identity_devices').select('id').limit(1).execute();
    return true;
  } catch (error) {
    if (error instanceof StorageError && error.code === 'storage.invalid_statement') return false;
    throw error;
  }
}

function notInitialised(): IdentityError {
  return new IdentityError('identity.not_initialised', 'This home has no identities yet.', {
    fix: 'Run `palyra init`, or check --home.',
  });
}
