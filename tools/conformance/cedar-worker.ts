import { parentPort, workerData } from 'node:worker_threads';
import { checkCaseFile, type NamedOutcome } from './cedar-check.ts';

/** The files of one thread. */
export interface Share {
  readonly directory: string;
  readonly files: readonly string[];
}

export interface CheckedFile {
  readonly file: string;
  readonly outcomes: readonly NamedOutcome[];
}

const { directory, files } = workerData as Share;
for (const file of files) {
  const checked: CheckedFile = { file, outcomes: await checkCaseFile({ directory, file }) };
  parentPort?.postMessage(checked);
}
