import { visibleText } from '@palyra/primitives';

/** A path as one word of a command that a person copies from a hint. Nothing is ever run from it. */
export function shellWord(path: string): string {
  const shown = visibleText(path);
  return /^[\w@%+=:,./-]+$/.test(shown) ? shown : `'${shown.replaceAll("'", "'\\''")}'`;
}
