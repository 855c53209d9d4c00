import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { entryUrl, sha256Hex } from '@palyra/primitives';
import { hostProgramUrl } from '@palyra/wasm';

/** The sources of a worker, without tests, by name. */
export type WorkerSources = ReadonlyMap<string, string>;

const BUILD = fileURLToPath(new URL('../../build', import.meta.url));

const found = new Map<string, string>();

let programs: readonly string[] | undefined;

/** Every program of ours that runs in a box, all of it in one directory. Looked for once: every call of a file tool asks. */
export function boxedPrograms(): readonly string[] {
  programs ??= [fileURLToPath(entryUrl(import.meta.url, './worker/worker-program')), fileURLToPath(hostProgramUrl())];
  return programs;
}

/** The program of a file worker. */
export function workerProgram(): string {
  return runnable(boxedPrograms()[0] as string);
}

/** The program of a WASM host. */
export function wasmHostProgram(): string {
  return runnable(boxedPrograms()[1] as string);
}

/**
 * A release holds JavaScript. In a checkout the sources run, and taking the types out of them takes three times as long as
 * all else that a worker does to start; where that was done for exactly these sources (tools/tests/strip-file-worker.ts),
 * the result runs.
 */
function runnable(program: string): string {
  const known = found.get(program) ?? strippedOr(program);
  found.set(program, known);
  return known;
}

function strippedOr(program: string): string {
  if (!program.endsWith('.ts')) return program;
  const stripped = join(strippedDirectory(program), strippedName(basename(program)));
  return existsSync(stripped) ? stripped : program;
}

export function readWorkerSources(program: string): WorkerSources {
  const directory = dirname(program);
  const names = readdirSync(directory).filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'));
  return new Map(names.toSorted().map((name) => [name, readFileSync(join(directory, name), 'utf8')]));
}

/** Named by what it is made from, so that it is never the result of other sources. */
export function strippedDirectory(program: string): string {
  const kind = basename(dirname(program));
  return join(BUILD, `${kind}-${sha256Hex(JSON.stringify([...readWorkerSources(program)]))}`, kind);
}

export function strippedName(source: string): string {
  return source.replace(/\.ts$/, '.js');
}
