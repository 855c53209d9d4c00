import { existsSync } from 'node:fs';
import type { NoteKey } from '@palyra/journal';
import type { CommandContext } from './command.ts';
import { resolvePath } from './find-home.ts';
import { loadJournal } from './journal-home.ts';
import { readInputFile } from './read-input-file.ts';

/** A verifier key as it was typed, or in a file of that name. Throws `journal.invalid_key`. */
export async function readVkey(typed: string, context: CommandContext): Promise<NoteKey> {
  const { nodeSha256, parseVkey } = await loadJournal();
  const isFile = !VKEY.test(typed) && existsSync(resolvePath(typed, context));
  const text = isFile ? new TextDecoder().decode(await readInputFile(typed, context)) : typed;
  return parseVkey(text, nodeSha256);
}

const VKEY = /\+[0-9a-f]{8}\+/;
