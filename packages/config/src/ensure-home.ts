import { lstatSync, mkdirSync, type Stats } from 'node:fs';
import { dirname } from 'node:path';
import { visibleText } from '@palyra/primitives';
import { ConfigError } from './config-error.ts';
import type { HomeLayout } from './home-layout.ts';
import { othersMayEnter } from './ownership.ts';
import { shellWord } from './shell-word.ts';

/** Makes the home when it is missing, for this user alone. Throws `ConfigError` when it is there and not safe. */
export function ensureHome(layout: HomeLayout): void {
  if (checkHome(layout) === 'safe') return;
  try {
    mkdirSync(dirname(layout.root), { recursive: true, mode: 0o700 });
    mkdirSync(layout.root, { mode: 0o700 });
  } catch (thrown) {
    const isThereNow = thrown instanceof Error && 'code' in thrown && thrown.code === 'EEXIST';
    if (!isThereNow) {
      const fix = 'Check that the directory above it exists and may be written, or choose another home.';
      throw new ConfigError('config.invalid_home', `${shown(layout)} could not be created.`, { fix, cause: thrown });
    }
  }
  // Another process may have been quicker, and it need not have been ours.
  checkHome(layout);
}

/** Throws `ConfigError` unless the home is missing or is a directory that only this user can enter. */
export function checkHome(layout: HomeLayout): 'absent' | 'safe' {
  const stats = statOrThrow(layout);
  if (stats === undefined) return 'absent';
  if (stats.isSymbolicLink()) {
    // SECURITY: T-40 — whoever owns the link decides later where keys and database are.
    throw unsafe(layout, 'is a symbolic link', 'Give the directory it leads to.');
  }
  if (!stats.isDirectory()) throw unsafe(layout, 'is not a directory', 'Choose another home, or move that file away.');

  // SECURITY: T-40 — in a directory that others may enter or write, every file of ours can be read or replaced.
  const fault = othersMayEnter({ uid: stats.uid, mode: stats.mode, word: shellWord(layout.root) }, process.geteuid?.());
  if (fault !== undefined) throw unsafe(layout, fault.sentence, fault.fix);
  return 'safe';
}

function statOrThrow(layout: HomeLayout): Stats | undefined {
  try {
    return lstatSync(layout.root, { throwIfNoEntry: false });
  } catch (thrown) {
    const fix = 'Check the path and the permissions of the directories above it.';
    throw new ConfigError('config.invalid_home', `${shown(layout)} cannot be reached.`, { fix, cause: thrown });
  }
}

function unsafe(layout: HomeLayout, sentence: string, fix: string): ConfigError {
  return new ConfigError('config.unsafe_home', `${shown(layout)} ${sentence}.`, { fix });
}

function shown(layout: HomeLayout): string {
  return `The home ${visibleText(layout.root)}`;
}
