import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '@palyra/primitives';

/** Codes are API: add one, never rename one. */
export const CONFORMANCE_ERRORS = {
  'conformance.usage': 'The command needs a suite and a directory.',
  'conformance.unknown_suite': 'No suite has this name.',
  'conformance.missing_directory': 'The directory of vectors, or a part of it, cannot be read.',
  'conformance.no_vectors': 'The directory holds no vectors of this suite.',
} as const;

export type ConformanceErrorCode = keyof typeof CONFORMANCE_ERRORS;

export class ConformanceError extends AppError<ConformanceErrorCode> {}

/** `total` is the sum of the other three. `unsupported` vectors ask for what Palyra refuses on purpose. */
export interface SuiteResult {
  readonly suite: string;
  readonly total: number;
  readonly passed: number;
  readonly failed: number;
  readonly unsupported: number;
}

/** Runs one published suite over a directory of its vectors; `tell` gets a line for every vector that did not pass. */
export type RunSuite = (directory: string, tell: (line: string) => void) => Promise<SuiteResult>;

export type VectorOutcome =
  | { readonly kind: 'passed' }
  | { readonly kind: 'failed'; readonly why: string }
  | { readonly kind: 'unsupported'; readonly why: string };

/** Runs every vector by name, in order, and adds up. Throws `ConformanceError` when there are none. */
export async function runVectors(
  suite: string,
  vectors: ReadonlyMap<string, () => Promise<VectorOutcome>>,
  tell: (line: string) => void,
): Promise<SuiteResult> {
  if (vectors.size === 0) {
    throw new ConformanceError('conformance.no_vectors', `The directory holds no vectors of ${suite}.`, {
      fix: 'Give the directory that the suite publishes its test data in.',
    });
  }
  const counts = { passed: 0, failed: 0, unsupported: 0 };
  for (const [name, run] of vectors) {
    const outcome = await run();
    counts[outcome.kind] += 1;
    if (outcome.kind !== 'passed') tell(`${outcome.kind}: ${name}: ${outcome.why}`);
  }
  return { suite, total: vectors.size, ...counts };
}

/** The files in a directory that end in `extension`, sorted, without it. Throws `ConformanceError`. */
export async function namesIn(directory: string, part: string, extension: string): Promise<readonly string[]> {
  try {
    const files = await readdir(join(directory, part));
    return files
      .filter((file) => file.endsWith(extension))
      .map((file) => file.slice(0, -extension.length))
      .toSorted();
  } catch (cause) {
    throw new ConformanceError('conformance.missing_directory', `${join(directory, part)} cannot be read.`, {
      fix: 'Give an existing directory of published vectors.',
      cause,
    });
  }
}
