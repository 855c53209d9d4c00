import { createReadStream, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import type { BundleReport, ExportReport, HomeJournal, HomeReport, VerifiedState, VerifyPins } from '@palyra/journal';
import { AppError } from '@palyra/primitives';
import type { CommandContext } from './command.ts';
import { resolvePath } from './find-home.ts';
import { findJournal, loadJournal } from './journal-home.ts';
import { unreadable } from './read-input-file.ts';

/** What was verified, and what came of it. */
export type Verified =
  | { readonly target: 'home'; readonly path: string; readonly report: HomeReport }
  | { readonly target: 'export'; readonly path: string; readonly report: ExportReport }
  | { readonly target: 'bundle'; readonly path: string; readonly report: BundleReport };

export interface VerifyInput {
  readonly pins: VerifyPins;
  readonly start: VerifiedState | undefined;
}

/** A home, an export, an archive or a bundle: which, is seen by looking. */
export async function verifyTarget(
  typed: string | undefined,
  input: VerifyInput,
  context: CommandContext,
): Promise<Verified> {
  if (typed === '-') return verifyStdin(input, context);
  const path = typed === undefined ? undefined : resolvePath(typed, context);
  if (path === undefined || isDirectory(path)) return verifyHomeAt(path, input, context);
  const head = await headOf(path);
  const text = () => createReadStream(path, { encoding: 'utf8' });
  if (isExport(head)) return { target: 'export', path, report: await verifyExported(text, input, context) };
  return { target: 'bundle', path, report: await verifyBundled(text(), input) };
}

function isDirectory(path: string): boolean {
  try {
    const found = statSync(path);
    if (found.isDirectory()) return true;
    // A pipe that nobody writes to would keep us waiting for ever; standard input is named by a dash.
    if (found.isFile()) return false;
  } catch (cause) {
    throw unreadable(path, cause);
  }
  throw unreadable(path, new Error('It is neither a file nor a directory.'));
}

async function verifyHomeAt(
  root: string | undefined,
  { pins, start }: VerifyInput,
  context: CommandContext,
): Promise<Verified> {
  const { home, place } = findJournal(context, root);
  try {
    return await verifyPlace({ place, path: home.root }, { pins, start }, context);
  } catch (error) {
    // SECURITY: T-31 — a database that somebody damaged is an answer about the log, and not a fault of the verifier.
    if (!(error instanceof AppError) || error.code !== 'storage.corrupt') throw error;
    const finding = { code: 'not_a_log', why: `The database is damaged. ${error.message}` } as const;
    return { target: 'home', path: home.root, report: { kind: 'broken', logs: [], origin: 'unknown', finding } };
  }
}

async function verifyPlace(
  { place, path }: { readonly place: HomeJournal; readonly path: string },
  { pins, start }: VerifyInput,
  context: CommandContext,
): Promise<Verified> {
  const journal = await loadJournal();
  const reader = await journal.openHomeForReading(place).catch((error: unknown) => {
    if (!(error instanceof journal.JournalError) || error.code !== 'journal.no_log' || !journal.hadLog(place))
      throw error;
    // SECURITY: T-53 — keys that have signed for a log, and no log: that is the shortest of all truncations.
    return undefined;
  });
  if (reader === undefined) {
    const finding = { code: 'truncated', why: 'This home had a journal, and it is not in the database.' } as const;
    return { target: 'home', path, report: { kind: 'broken', logs: [], origin: 'unknown', finding } };
  }
  try {
    const { database, bodyDirectory } = reader;
    const given = { database, bodyDirectory, pins, ...(start === undefined ? {} : { start }) };
    const report = await journal.verifyHome({ ...given, progress: progressOf(context) });
    return { target: 'home', path, report };
  } finally {
    await reader.close();
  }
}

type Text = AsyncIterable<string>;

async function verifyExported(
  text: Text | (() => Text),
  { pins, start }: VerifyInput,
  context: CommandContext,
): Promise<ExportReport> {
  const { manySignatures, verifyExport } = await loadJournal();
  return verifyExport(text, {
    crypto: manySignatures(),
    pins,
    progress: progressOf(context),
    ...(start === undefined ? {} : { start }),
  });
}

/** One character more than a bundle may have is enough to refuse it. */
const MOST_BUNDLE = 128 * 1024 * 1024 + 1;

async function verifyBundled(text: Text, { pins }: VerifyInput): Promise<BundleReport> {
  const { nodeCrypto, verifyBundle } = await loadJournal();
  let whole = '';
  for await (const part of text) {
    whole += part;
    if (whole.length > MOST_BUNDLE) break;
  }
  return verifyBundle(whole, { crypto: nodeCrypto, pins });
}

async function verifyStdin(input: VerifyInput, context: CommandContext): Promise<Verified> {
  const stream = context.openStdin();
  stream.setEncoding('utf8');
  const chunks = stream[Symbol.asyncIterator]() as AsyncIterator<string>;
  let head = '';
  while (head.length < HEAD_BYTES) {
    const next = await chunks.next();
    if (next.done === true) break;
    head += next.value;
  }
  const text = joined(head, chunks);
  const path = 'stdin';
  if (isExport(head)) return { target: 'export', path, report: await verifyExported(text, input, context) };
  return { target: 'bundle', path, report: await verifyBundled(text, input) };
}

async function* joined(head: string, rest: AsyncIterator<string>): AsyncGenerator<string> {
  yield head;
  for (let next = await rest.next(); next.done !== true; next = await rest.next()) yield next.value;
}

/** What stands before the format in the first line of an export is shorter. */
const HEAD_BYTES = 256 * 1024;

async function headOf(path: string): Promise<string> {
  try {
    await using file = await open(path, 'r');
    const { buffer, bytesRead } = await file.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
    return buffer.toString('utf8', 0, bytesRead);
  } catch (cause) {
    throw unreadable(path, cause);
  }
}

/** Exports are canonical JSON, and within the texts of a bundle the quotes would be escaped. */
function isExport(head: string): boolean {
  return head.includes('"format":"palyra.export/');
}

function progressOf({ terminal }: CommandContext): (entries: number) => void {
  return (entries) => terminal?.progress(`${entries} entries verified`);
}
