import { readdir } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join, relative } from 'node:path';
import { Worker } from 'node:worker_threads';
import { checkCaseFile, type NamedOutcome } from './cedar-check.ts';
import type { CheckedFile, Share } from './cedar-worker.ts';
import { ConformanceError, type SuiteResult, type VectorOutcome } from './suite.ts';

/** Whoever has more failures than this has one cause, and wants to see the end. */
const MOST_TOLD = 100;
const FILES_BETWEEN_PROGRESS = 500;
/** Fewer are not worth the start of another thread. */
const FILES_PER_THREAD = 100;

/**
 * Cedar's public integration tests (cedar-policy/cedar-integration-tests: `tests/` and the unpacked corpus), each
 * request through our evaluator with the case's own schema: decision, reasons and ids of erring policies must be
 * those expected, and strict validation must say what `shouldValidate` says. `total` counts requests; when a whole
 * file fails, all its requests do, and a file without requests counts as one.
 */
export async function run(directory: string, tell: (line: string) => void = () => {}): Promise<SuiteResult> {
  const files = await jsonFilesBelow(directory);
  const counts = { passed: 0, failed: 0, unsupported: 0 };
  const lines = new Map<string, readonly string[]>();
  let seen = 0;
  await checkAll(directory, files, ({ file, outcomes }) => {
    for (const { outcome } of outcomes) counts[outcome.kind] += 1;
    const bad = outcomes.flatMap((named) => lineOf(relative(directory, file), named));
    if (bad.length > 0) lines.set(file, bad);
    seen += 1;
    if (seen % FILES_BETWEEN_PROGRESS === 0) console.error(progress(seen, files.length, counts));
  });
  // Threads finish in any order; the report does not.
  const told = files.flatMap((file) => lines.get(file) ?? []);
  for (const line of told.slice(0, MOST_TOLD)) tell(line);
  if (told.length > MOST_TOLD) tell(`… and ${told.length - MOST_TOLD} more that did not pass`);

  const total = counts.passed + counts.failed + counts.unsupported;
  if (total === 0) {
    throw new ConformanceError('conformance.no_vectors', 'The directory holds no vectors of cedar.', {
      fix: 'Give the directory that the suite publishes its test data in, with corpus-tests.tar.gz unpacked.',
    });
  }
  return { suite: 'cedar', total, ...counts };
}

/** Each file once, in this thread when they are few, else shared out. */
async function checkAll(
  directory: string,
  files: readonly string[],
  take: (checked: CheckedFile) => void,
): Promise<void> {
  const threads = Math.min(availableParallelism(), Math.floor(files.length / FILES_PER_THREAD));
  if (threads < 2) {
    for (const file of files) take({ file, outcomes: await checkCaseFile({ directory, file }) });
    return;
  }
  const shares = Array.from({ length: threads }, (_, thread) =>
    files.filter((_file, index) => index % threads === thread),
  );
  await Promise.all(shares.map((share) => checkShare({ directory, files: share }, take)));
}

function checkShare(share: Share, take: (checked: CheckedFile) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    let left = share.files.length;
    const worker = new Worker(new URL('./cedar-worker.ts', import.meta.url), { workerData: share });
    worker.on('message', (checked: CheckedFile) => {
      take(checked);
      left -= 1;
    });
    worker.on('error', reject);
    // A thread that ends early must not look like files that passed.
    worker.on('exit', () => (left === 0 ? resolve() : reject(new Error(`A thread ended with ${left} files unread.`))));
  });
}

function lineOf(file: string, { name, outcome }: NamedOutcome): readonly string[] {
  return outcome.kind === 'passed' ? [] : [`${outcome.kind}: ${file}: ${name}${outcome.why}`];
}

async function jsonFilesBelow(directory: string): Promise<readonly string[]> {
  try {
    const entries = await readdir(directory, { recursive: true, withFileTypes: true });
    return entries
      .filter((entry) => entry.isFile() && entry.name.endsWith('.json') && !entry.name.endsWith('.entities.json'))
      .map((entry) => join(entry.parentPath, entry.name))
      .toSorted();
  } catch (cause) {
    throw new ConformanceError('conformance.missing_directory', `${directory} cannot be read.`, {
      fix: 'Give an existing directory of published vectors.',
      cause,
    });
  }
}

function progress(seen: number, of: number, counts: Readonly<Record<VectorOutcome['kind'], number>>): string {
  return `${seen} of ${of} files: ${counts.passed} passed, ${counts.failed} failed, ${counts.unsupported} unsupported`;
}
