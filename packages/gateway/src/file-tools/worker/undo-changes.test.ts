import type { Stats } from 'node:fs';
import { expect, test } from 'vitest';
import { sha256 } from './open-file.ts';
import type { FileChange, FileState } from './tool-shapes.ts';
import { look } from './undo-changes.ts';
import type { Place } from './walk-path.ts';

const PLACE: Place = { path: 'run.sh', directory: 0, missing: [], name: 'run.sh', entry: undefined };
const state = (text: string, mode: number): FileState => ({
  kind: 'file',
  sha256: sha256(Buffer.from(text)),
  sizeBytes: text.length,
  mode,
});

function stateOf(change: Omit<FileChange, 'path'>, text: string, mode: number) {
  const bytes = Buffer.from(text);
  const read = () => ({ bytes, sha256: sha256(bytes), mode, stat: {} as Stats });
  return look(read, PLACE, { path: 'run.sh', ...change }).kind;
}

test('where only the mode changes, the mode says which of the two it is', () => {
  const change = { before: state('a', 0o644), after: state('a', 0o755) };
  expect(stateOf(change, 'a', 0o755)).toBe('after');
  expect(stateOf(change, 'a', 0o644)).toBe('before');
  expect(stateOf(change, 'a', 0o600)).toBe('other');
  expect(stateOf(change, 'b', 0o755)).toBe('other');
});

test('where the content changes, that says it, whatever became of the mode', () => {
  const change = { before: state('a', 0o644), after: state('b', 0o755) };
  expect(stateOf(change, 'b', 0o700)).toBe('after');
  expect(stateOf(change, 'a', 0o600)).toBe('before');
});
