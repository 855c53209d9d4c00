import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sha256Hex } from '@palyra/primitives';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { failed } from '../file-tools/file-tool-result.ts';
import type { FileChanges } from '../file-tools/worker/tool-shapes.ts';
import { createKeptChanges, type UndoRequest } from './kept-changes.ts';

let directory: string;
beforeEach(() => {
  directory = join(mkdtempSync(join(tmpdir(), 'palyra-kept-')), 'changes');
});
afterEach(() => rmSync(join(directory, '..'), { recursive: true }));

const blob = (text: string) => ({ sha256: sha256Hex(text), bytes: Buffer.from(text) });
const state = (text: string) =>
  ({ kind: 'file', sha256: sha256Hex(text), sizeBytes: Buffer.byteLength(text), mode: 0o644 }) as const;
const change = (path: string, before: string, after: string): FileChanges => ({
  files: [{ path, before: state(before), after: state(after) }],
  directories: [],
});
const recorded = (runId: string, callId: string, changes: FileChanges) => ({
  runId,
  callId,
  workspace: '/work',
  changes,
});

/** Says which changes it was to undo, in order; fails for those named. */
function undoer(...failing: readonly string[]) {
  const seen: string[] = [];
  const fileTools: UndoRequest['fileTools'] = {
    async undo({ files }, { allowProtected }) {
      const [{ path } = { path: '' }] = files;
      seen.push(`${path} (${String(allowProtected)})`);
      if (failing.includes(path)) return failed('file.conflict');
      const output = { restored: [path], unchanged: [], conflicts: [] };
      return { kind: 'completed', output, changes: undefined, execution: undefined };
    },
  };
  return { seen, fileTools };
}

test('contents are kept once, by digest, for their owner only, and come back as they were', async () => {
  const kept = createKeptChanges({ directory });
  const blobs = kept.blobsOf('R1');
  await blobs.keep(blob('old'));
  await kept.blobsOf('R2').keep(blob('old'));
  const path = join(directory, 'blobs', blob('old').sha256.slice(0, 2), blob('old').sha256);
  expect(readFileSync(path, 'utf8')).toBe('old');
  expect([statSync(directory).mode & 0o777, statSync(path).mode & 0o777]).toEqual([0o700, 0o600]);
  expect(readdirSync(join(path, '..'))).toEqual([blob('old').sha256]);
  expect(await blobs.fetch(blob('old').sha256)).toEqual(Buffer.from('old'));
  expect(await blobs.fetch(blob('never').sha256)).toBeUndefined();
});

test('a content that is not what its digest says is neither kept nor given back', async () => {
  const blobs = createKeptChanges({ directory }).blobsOf('R1');
  await expect(blobs.keep({ ...blob('a'), bytes: Buffer.from('b') })).rejects.toThrow('not what its digest says');
  await expect(blobs.keep({ sha256: '../../x', bytes: Buffer.from('b') })).rejects.toThrow('not a digest');
  await blobs.keep(blob('good'));
  writeFileSync(join(directory, 'blobs', blob('good').sha256.slice(0, 2), blob('good').sha256), 'evil');
  expect(await blobs.fetch(blob('good').sha256)).toBeUndefined();
});

test('a run keeps so much and no more, also after a restart', async () => {
  const options = { directory, bytesOfRun: 10 };
  const kept = createKeptChanges(options);
  await kept.blobsOf('R1').keep(blob('12345678'));
  await kept.record(recorded('R1', 'C1', change('x', '12345678', '')));
  await expect(kept.blobsOf('R1').keep(blob('abc'))).rejects.toThrow('overwritten as much as is kept');
  await kept.blobsOf('R2').keep(blob('abc'));
  await expect(createKeptChanges(options).blobsOf('R1').keep(blob('abc'))).rejects.toThrow('as much as is kept');
});

test('changes are listed in their order, run by run, and survive a restart', async () => {
  const kept = createKeptChanges({ directory });
  const made = ['C1', 'C2', 'C3'].map((callId) => recorded('R1', callId, change(callId, 'a', 'b')));
  await Promise.all(made.map((each) => kept.record(each)));
  await kept.record(recorded('R2', 'C9', change('y', 'a', 'b')));
  await kept.record(recorded('R1', 'C4', { files: [], directories: [] }));
  expect(await createKeptChanges({ directory }).changesOf('R1')).toEqual(made);
  expect(await kept.changesOf('R3')).toEqual([]);
});

test('a run is undone newest first, once, and exactly its files are opened', async () => {
  const kept = createKeptChanges({ directory });
  for (const path of ['one', 'two']) await kept.record(recorded('R1', path, change(path, 'a', 'b')));
  const { seen, fileTools } = undoer();
  const request = { runId: 'R1', fileTools };
  expect(await kept.undo(request)).toEqual({
    kind: 'undone',
    calls: [
      { callId: 'two', restored: ['two'], conflicts: [] },
      { callId: 'one', restored: ['one'], conflicts: [] },
    ],
  });
  expect(await kept.undo(request)).toEqual({ kind: 'undone', calls: [] });
  expect(seen).toEqual(['two (two)', 'one (one)']);
  await kept.record(recorded('R1', 'three', change('three', 'a', 'b')));
  expect((await kept.changesOf('R1')).map(({ callId }) => callId)).toEqual(['three']);
});

test('an undo that waits for a worker keeps nobody from changing files: they may have the one it waits for', async () => {
  const kept = createKeptChanges({ directory });
  await kept.record(recorded('R1', 'C1', change('x', 'a', 'b')));
  const free = Promise.withResolvers<void>();
  const { seen, fileTools } = undoer();
  const waiting: UndoRequest['fileTools'] = { undo: (...asked) => free.promise.then(() => fileTools.undo(...asked)) };
  const undone = [1, 2].map(() => kept.undo({ runId: 'R1', fileTools: waiting }));
  await kept.blobsOf('R2').keep(blob('old'));
  await kept.record(recorded('R2', 'C2', change('y', 'old', 'new')));
  free.resolve();
  expect((await Promise.all(undone)).map(({ calls }) => calls.length)).toEqual([1, 0]);
  expect(seen).toEqual(['x (x)']);
});

test('it stops at what cannot be undone: what is older would be put under it', async () => {
  const kept = createKeptChanges({ directory });
  for (const path of ['one', 'two', 'three']) await kept.record(recorded('R1', path, change(path, 'a', 'b')));
  const { fileTools } = undoer('two');
  expect(await kept.undo({ runId: 'R1', fileTools })).toMatchObject({
    kind: 'stopped',
    calls: [{ callId: 'three' }],
    at: 'two',
    code: 'file.conflict',
  });
  expect((await kept.changesOf('R1')).map(({ callId }) => callId)).toEqual(['one', 'two']);
});

test('what is forgotten is gone, but for what other runs need', async () => {
  const kept = createKeptChanges({ directory });
  for (const text of ['mine', 'shared', 'under way']) await kept.blobsOf('R1').keep(blob(text));
  await kept.record(recorded('R1', 'C1', change('x', 'mine', 'shared')));
  await kept.record(recorded('R1', 'C2', change('x', 'under way', 'z')));
  await kept.record(recorded('R2', 'C3', change('x', 'shared', 'z')));
  await kept.blobsOf('R3').keep(blob('under way'));
  await kept.forget('R1');
  const { fetch } = kept.blobsOf('R2');
  expect(
    await Promise.all(
      ['mine', 'shared', 'under way'].map(async (text) => (await fetch(sha256Hex(text))) !== undefined),
    ),
  ).toEqual([false, true, true]);
  expect(await kept.changesOf('R1')).toEqual([]);
});

test('no path is made of an id that could lead elsewhere', async () => {
  const kept = createKeptChanges({ directory });
  await expect(kept.record(recorded('../x', 'C1', change('x', 'a', 'b')))).rejects.toThrow('not the id of a run');
  await expect(kept.changesOf('..')).rejects.toThrow('not the id of a run');
  await expect(kept.forget('')).rejects.toThrow('not the id of a run');
});
