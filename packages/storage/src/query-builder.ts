import { existsSync } from 'node:fs';
import type * as kysely from 'kysely';

/*
 * kysely is 255 small modules, and loading them took most of the time of opening a database: once in the process and
 * once in its writer thread, 150 ms each. The set-up puts them into one file, which loads in 10; without it the package
 * itself is loaded. Only values come from here: types are the package's.
 */
const BUNDLE = new URL('../build/kysely.js', import.meta.url);

const module = (await import(existsSync(BUNDLE) ? BUNDLE.href : 'kysely')) as typeof kysely;

export const Kysely: typeof kysely.Kysely = module.Kysely;
export const DummyDriver: typeof kysely.DummyDriver = module.DummyDriver;
export const SqliteAdapter: typeof kysely.SqliteAdapter = module.SqliteAdapter;
export const SqliteIntrospector: typeof kysely.SqliteIntrospector = module.SqliteIntrospector;
export const SqliteQueryCompiler: typeof kysely.SqliteQueryCompiler = module.SqliteQueryCompiler;
export const PostgresAdapter: typeof kysely.PostgresAdapter = module.PostgresAdapter;
export const PostgresIntrospector: typeof kysely.PostgresIntrospector = module.PostgresIntrospector;
export const PostgresQueryCompiler: typeof kysely.PostgresQueryCompiler = module.PostgresQueryCompiler;
/** For what the builders have no word for; see kysely's `sql`. */
export const sql: typeof kysely.sql = module.sql;
