import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import type { NoteKey, VerifiedState } from '@palyra/journal';
import { parseJson, visibleText } from '@palyra/primitives';
import { CliError } from './cli-error.ts';
import type { CommandContext, CommandInput } from './command.ts';
import { resolvePath } from './find-home.ts';
import { loadJournal } from './journal-home.ts';
import { readInputFile } from './read-input-file.ts';
import { readVkey } from './verifier-keys.ts';
import type { Verified, VerifyInput } from './verify-target.ts';

/** What the verifier brings along. Throws `CliError`, and `journal.invalid_key` for what is no key. */
export async function readVerifyOptions(
  options: CommandInput['options'],
  context: CommandContext,
): Promise<VerifyInput> {
  const { key, state } = options;
  const witnesses = await Promise.all(textsOf(options['witness']).map((typed) => readWitness(typed, context)));
  if (options['requireWitness'] === true && witnesses.length === 0) {
    throw new CliError('cli.invalid_usage', '--require-witness needs to know which: --witness VKEY.', {
      fix: 'Give the key that `palyra journal cosign` printed on the device of the witness.',
    });
  }
  const checkpoints = await Promise.all(textsOf(options['checkpoint']).map((typed) => readCheckpoint(typed, context)));
  const rootKey = typeof key === 'string' ? (await readVkey(key, context)).publicKey : undefined;
  return {
    pins: { witnesses, checkpoints, ...(rootKey === undefined ? {} : { rootKey }) },
    start: typeof state === 'string' ? readState(resolvePath(state, context)) : undefined,
  };
}

function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value : [];
}

async function readWitness(typed: string, context: CommandContext): Promise<NoteKey> {
  const key = await readVkey(typed, context);
  if (key.type === 4) return key;
  throw new CliError('cli.invalid_option', '--witness takes the key of a witness, and this is one that signs logs.', {
    fix: 'Give the key that `palyra journal cosign` printed; the root key of a log belongs to --key.',
  });
}

/** The note itself, or the request or the answer that holds it. */
async function readCheckpoint(typed: string, context: CommandContext): Promise<string> {
  const { parseCheckpoint } = await loadJournal();
  const text = new TextDecoder().decode(await readInputFile(typed, context));
  const note = text.trimStart().startsWith('{') ? noteIn(text, typed) : text;
  parseCheckpoint(note);
  return note;
}

function noteIn(text: string, typed: string): string {
  try {
    const value = parseJson(text) as { readonly note?: unknown };
    if (typeof value.note === 'string') return value.note;
  } catch {
    // Said below, for both.
  }
  throw new CliError('cli.invalid_option', `${visibleText(typed)} holds no checkpoint.`, {
    fix: 'Give what `palyra journal checkpoint` or `palyra journal cosign` printed.',
  });
}

/** Absent the first time. */
function readState(path: string): VerifiedState | undefined {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return undefined;
    throw invalidState(path, cause);
  }
  try {
    const value = parseJson(text, { maxLength: MOST_STATE }) as unknown as VerifiedState;
    if (isState(value)) return value;
  } catch (cause) {
    throw invalidState(path, cause);
  }
  throw invalidState(path);
}

const MOST_STATE = 16 * 1024 * 1024;

function isState(value: VerifiedState): boolean {
  const { format, origin, rootKey, size, previous, frontier, keys } = value;
  return (
    format === 'palyra.verified/1' &&
    [origin, rootKey, previous].every((text) => typeof text === 'string') &&
    Number.isSafeInteger(size) &&
    Array.isArray(frontier) &&
    frontier.every((hash) => typeof hash === 'string') &&
    Array.isArray(keys)
  );
}

function invalidState(path: string, cause?: unknown): CliError {
  return new CliError('cli.invalid_option', `${visibleText(path)} is not what a verification left.`, {
    fix: 'Verify from the beginning, with the name of a file that is not there yet.',
    ...(cause === undefined ? {} : { cause }),
  });
}

/** Throws `cli.invalid_usage`: whoever names a state believes that it will be heeded, and kept. */
export function refuseUselessState({ target, report }: Verified, typed: unknown): void {
  const isSelection = target === 'export' && report.kind === 'sound' && report.of === 'selection';
  if (typeof typed !== 'string' || (target !== 'bundle' && !isSelection)) return;
  const what = target === 'bundle' ? 'A bundle' : 'An export of single entries';
  throw new CliError('cli.invalid_usage', `${what} has no log to go on from, so --state means nothing with it.`, {
    fix: 'Leave --state out; it is for homes, whole exports and archives.',
  });
}

/** Where the next verification goes on; nothing when this one found a fault. */
export function keepState(verified: Verified, typed: unknown, context: CommandContext): void {
  const state = stateOf(verified);
  if (typeof typed !== 'string' || state === undefined) return;
  const path = resolvePath(typed, context);
  try {
    writeFileSync(`${path}.new`, `${JSON.stringify(state)}\n`, { mode: 0o600, flush: true });
    renameSync(`${path}.new`, path);
  } catch (cause) {
    throw new CliError('cli.output_failed', `${visibleText(path)} could not be written.`, {
      fix: 'Check the path given with --state.',
      cause,
    });
  }
}

function stateOf({ target, report }: Verified): VerifiedState | undefined {
  if (report.kind === 'broken') return undefined;
  switch (target) {
    case 'home':
      return report.logs.at(-1)?.state;
    case 'export':
      return report.of === 'range' ? report.state : undefined;
    case 'bundle':
      return undefined;
  }
}
