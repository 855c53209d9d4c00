import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { entryUrl, sha256Hex } from '@palyra/primitives';

/** The sources of the worker, without tests, by name. */
export type WorkerSources = ReadonlyMap<string, string>;

const BUILD = fileURLToPath(new URL('../../build', import.meta.url));

let found: string | undefined;

/**
 * The program of a file worker. A release holds JavaScript. In a checkout the sources run, and taking the types out of
 * them takes three times as long as all else that a worker does to start; where that was done for exactly these sources
 * (tools/tests/strip-file-worker.ts), the result runs.
 */
export function workerProgram(): string {
  found ??= strippedOr(fileURLToPath(entryUrl(import.meta.url, './worker/worker-program')));
  return found;
}

function strippedOr(program: string): string {
  if (!program.endsWith('.ts')) return program;
  const stripped = join(strippedDirectory(readWorkerSources()), strippedName(basename(program)));
  return existsSync(stripped) ? stripped : program;
}

export function readWorkerSources(): WorkerSources {
  const directory = fileURLToPath(new URL('./worker/', import.meta.url));
  const names = readdirSync(directory).filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'));
  return new Map(names.toSorted().map((name) => [name, readFileSync(join(directory, name), 'utf8')]));
}

/** Named by what it is made from, so that it is never the result of other sources. */
export function strippedDirectory(sources: WorkerSources): string {
  return join(BUILD, `worker-${sha256Hex(JSON.stringify([...sources]))}`, 'worker');
}

export function strippedName(source: string): string {
  return source.replace(/\.ts$/, '.js');
}
