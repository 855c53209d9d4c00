// T-14, T-44: a file worker is chosen while the intent of its call is being recorded. Until that is on disk, the workspace is
// swapped, or what the operator lets be seen of it changes: the worker still holds what it was given.
import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '@palyra/primitives';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type FileToolsPlace, makeFileToolsPlace } from '../integration/file-tools-place.ts';
import { type ProfileChanges, sandboxProfile } from '../sandbox-profile.ts';
import { uniqueMark } from './sandboxed.ts';

const READ = 'palyra.fs.read';

let place: FileToolsPlace;
beforeAll(async () => {
  place = await makeFileToolsPlace();
});
afterAll(async () => {
  await place.close();
});

/** A workspace with one file, whose worker waits; what is read of it with the worker that was ready before `meanwhile`. */
async function readAfter(meanwhile: (root: string, operator: Operator) => void, path = 'text') {
  const root = join(place.base, uniqueMark());
  mkdirSync(root);
  writeFileSync(join(root, 'text'), 'old');
  const operator: Operator = { changes: { maskedPaths: [join(root, 'keys')] }, ahead: 0 };
  const tools = place.make({
    profileFor: (workspace) => sandboxProfile(workspace, operator.changes),
    // It stands still: how long this takes is not what is tested.
    clock: { ...systemClock, now: () => operator.ahead },
  });
  const context = { ...place.context, workspace: root };
  try {
    await tools.run(READ, { path: 'text' }, context);
    using ready = tools.makeReady(READ, root);
    if (ready === undefined) throw new Error('No worker waits.');
    // It is chosen when this is over.
    await tools.inspect(READ, { path: 'text' }, context);
    meanwhile(root, operator);
    return await tools.run(READ, { path }, { ...context, ready });
  } finally {
    await tools.close();
  }
}

interface Operator {
  changes: ProfileChanges;
  /** So many milliseconds the clock runs ahead. */
  ahead: number;
}

test('another directory took the place of the workspace: that one is read', async () => {
  const result = await readAfter((root) => {
    renameSync(root, `${root}-moved`);
    mkdirSync(root);
    writeFileSync(join(root, 'text'), 'new');
  });
  expect(result).toMatchObject({ kind: 'completed', output: { content: 'new' } });
});

test('a link took its place: nothing is read', async () => {
  const result = await readAfter((root) => {
    renameSync(root, `${root}-moved`);
    symlinkSync(`${root}-moved`, root);
  });
  expect(result).toMatchObject({ kind: 'failed', code: 'file.unavailable' });
});

test('the operator hides a file: it is hidden', async () => {
  const result = await readAfter((root, operator) => {
    operator.changes = { maskedPaths: [join(root, 'text')] };
  });
  expect(JSON.stringify(result)).not.toContain('old');
});

test('recording took long: what it is to be shown is looked at again', async () => {
  const secret = uniqueMark();
  const result = await readAfter((root, operator) => {
    mkdirSync(join(root, 'keys'));
    writeFileSync(join(root, 'keys/secret'), secret);
    operator.ahead = 1_000;
  }, 'keys/secret');
  expect(JSON.stringify(result)).not.toContain(secret);
});

test('nothing changed: the worker that was chosen reads', async () => {
  expect(await readAfter(() => undefined)).toMatchObject({ kind: 'completed', output: { content: 'old' } });
});
