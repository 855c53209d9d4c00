import { type Clock, type Logger, systemClock } from '@palyra/primitives';
import type { Database } from '../database.ts';
import { type Migration, renderMigrations } from '../migration.ts';
import type { ReadOnlyDatabase } from '../open-database.ts';
import { loadPrograms, type ProgramModule } from '../program.ts';
import { StorageError } from '../storage-error.ts';
import { createSubscriptions } from '../subscriptions.ts';
import { checkNotifications } from '../unit.ts';
import { commitUnit } from './commit-unit.ts';
import { postgresBuilder, postgresReader } from './dialect.ts';
import { createListener } from './listen.ts';
import { migrate, POSTGRES_TYPES } from './migrate.ts';
import { type Patience, repeatWhileAway } from './patience.ts';
import { createPools, type Pools } from './pools.ts';
import { createTurnstile } from './turnstile.ts';
import { forgetOldMarks, UNITS_MIGRATION } from './unit-mark.ts';

export interface PostgresOptions {
  readonly url: string;
  readonly migrations: readonly Migration[] | 'as found';
  readonly programs: readonly ProgramModule[];
  /** How long to wait for another session's lock before `storage.locked`. */
  readonly lockTimeoutMs: number;
  readonly poolSize: number;
  readonly logger: Pick<Logger, 'error'>;
  readonly clock?: Clock;
  /** How long units and queries wait for a server that is away before `storage.unavailable`. */
  readonly patienceMs?: number;
}

const PATIENCE_MS = 10_000;
const UNITS_BETWEEN_PRUNINGS = 1000;
const MAX_WAITING = 10_000;

/** The shared store: several palyrad on one PostgreSQL. */
export async function openPostgres<Schema>(options: PostgresOptions): Promise<Database<Schema>> {
  const { logger, clock = systemClock, patienceMs = PATIENCE_MS } = options;
  const programs = await loadPrograms(options.programs);
  const subscriptions = createSubscriptions(logger);
  const pools = createPools({ ...options, answerTimeoutMs: options.lockTimeoutMs + patienceMs });
  const patience = { clock, patienceMs };
  await migrateAs(options.migrations, pools, patience).catch(async (error: unknown) => {
    await pools.close();
    throw error;
  });
  const listener = createListener({ connect: pools.connectAlone, subscriptions, clock, logger });
  const writing = createTurnstile(options.poolSize, MAX_WAITING);
  const reading = createTurnstile(options.poolSize, MAX_WAITING);
  const context = { ...patience, pool: pools.writing, programs, build: postgresBuilder<never>() };
  const underWay = new Set<Promise<unknown>>();
  let units = 0;
  let closed: Promise<void> | undefined;

  const whileOpen = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    if (closed !== undefined) throw new StorageError('storage.closed', 'The database is closed.');
    const running = work();
    underWay.add(running);
    return await running.finally(() => underWay.delete(running));
  };

  const pruneNowAndThen = () => {
    units += 1;
    if (units % UNITS_BETWEEN_PRUNINGS !== 1) return;
    // Only room is at stake: what could not be pruned now is pruned the next time.
    void whileOpen(() => writing.pass(() => forgetOldMarks(context))).catch(() => undefined);
  };
  const closeAll = async () => {
    await Promise.allSettled(underWay);
    await listener.close();
    await pools.close();
  };

  return {
    dialect: 'postgres',
    read: postgresReader<Schema>((sql, parameters) =>
      whileOpen(() => reading.pass(() => repeatWhileAway(() => pools.query(sql, parameters), patience))),
    ),
    write: postgresBuilder<Schema>(),
    commit({ steps, notifications = [] }) {
      return whileOpen(async () => {
        const unit = { steps, notifications: checkNotifications(notifications) };
        const outcome = await writing.pass(() => commitUnit(unit, context));
        pruneNowAndThen();
        return outcome;
      });
    },
    scrub() {
      return whileOpen(async () => {
        await writing.pass(() => repeatWhileAway(() => pools.writing.query('vacuum'), patience));
      });
    },
    subscribe(channel, listen) {
      return whileOpen(() =>
        subscriptions.addWhen(() => repeatWhileAway(() => listener.start(), patience), channel, listen),
      );
    },
    close() {
      closed ??= closeAll();
      return closed;
    },
  };
}

async function migrateAs(migrations: PostgresOptions['migrations'], pools: Pools, patience: Patience): Promise<void> {
  if (migrations === 'as found') await requireDatabase(pools, patience);
  else await migrate(pools.writing, renderMigrations([UNITS_MIGRATION, ...migrations], POSTGRES_TYPES));
}

/** Whoever opens is told that there is no database, not whoever first reads. */
async function requireDatabase(pools: Pools, patience: Patience): Promise<void> {
  await repeatWhileAway(() => pools.query('select 1', []), patience);
}

/** Only the reading half. */
export async function openPostgresForReading<Schema>(
  options: Pick<PostgresOptions, 'url' | 'poolSize' | 'lockTimeoutMs' | 'patienceMs'>,
): Promise<ReadOnlyDatabase<Schema>> {
  const patience = { clock: systemClock, patienceMs: options.patienceMs ?? PATIENCE_MS };
  const pools = createPools({ ...options, answerTimeoutMs: options.lockTimeoutMs + patience.patienceMs });
  const reading = createTurnstile(options.poolSize, MAX_WAITING);
  await requireDatabase(pools, patience).catch(async (error: unknown) => {
    await pools.close();
    throw error;
  });
  return {
    dialect: 'postgres',
    read: postgresReader<Schema>((sql, parameters) =>
      reading.pass(() => repeatWhileAway(() => pools.query(sql, parameters), patience)),
    ),
    close: () => pools.close(),
  };
}
