import { visibleText } from '@palyra/primitives';
import { commandLine } from '../approval-effect.ts';
import type { ShownAction } from './prompt-facts.ts';

export interface ActionText {
  readonly kind: ShownAction['kind'];
  /** The whole of it, made visible. A diff has real line breaks: whoever prints it marks each line as quoted. */
  readonly text: string;
  /** How long it is. */
  readonly characters: number;
  /** How much of it is not in `text`, which says so where it is missing. */
  readonly left_out: number;
}

/** More than anybody reads, and less than a row may hold. */
const MOST_CHARACTERS = 100_000;

// SECURITY: T-08 — the exact bytes or a note that says how many are missing; never a summary.
export function showAction(action: ShownAction): ActionText {
  switch (action.kind) {
    case 'command':
      // Already visible, word by word: made visible again, its escapes would be doubled.
      return cut(action.kind, commandLine(action.argv));
    case 'diff':
      return shown(action.kind, action.diff, 'keep');
    case 'url':
      return shown(action.kind, `${action.method} ${action.url}`, 'escape');
    case 'call':
      return shown(action.kind, `${action.name} ${action.arguments}`, 'escape');
  }
}

/** What is done, in the infinitive. */
export function actInWords(action: ShownAction): string {
  switch (action.kind) {
    case 'command':
      return `run ${commandLine(action.argv.slice(0, 1))}`;
    case 'diff':
      return `change ${action.paths.length === 1 ? brief(action.paths[0] ?? '') : `${action.paths.length} files`}`;
    case 'url':
      return `fetch ${brief(action.url)}`;
    case 'call':
      return `call ${brief(action.name)}`;
  }
}

function brief(text: string): string {
  return visibleText(text, { maxCharacters: 200 });
}

function shown(kind: ActionText['kind'], text: string, newlines: 'keep' | 'escape'): ActionText {
  const characters = countOf(text);
  return {
    kind,
    text: visibleText(text, { newlines, maxCharacters: MOST_CHARACTERS }),
    characters,
    left_out: Math.max(0, characters - MOST_CHARACTERS),
  };
}

function cut(kind: ActionText['kind'], visible: string): ActionText {
  const characters = countOf(visible);
  const leftOut = characters - MOST_CHARACTERS;
  if (leftOut <= 0) return { kind, text: visible, characters, left_out: 0 };
  const letters = Array.from(visible);
  const tail = Math.floor(MOST_CHARACTERS / 3);
  const head = letters.slice(0, MOST_CHARACTERS - tail).join('');
  const text = `${head}\\[${leftOut} characters left out]${letters.slice(-tail).join('')}`;
  return { kind, text, characters, left_out: leftOut };
}

function countOf(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}
