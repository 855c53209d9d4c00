import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sha256Hex } from '@palyra/primitives';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { ChangeLog, RecordedChange } from '../../tools/change-log.ts';
import { createKeepEdits } from './keep-edits.ts';
import { createLocatePath } from './locate-path.ts';

let workspace = '';
let kept: string[] = [];
let recorded: RecordedChange[] = [];

beforeEach(() => {
  workspace = mkdtempSync(join(tmpdir(), 'palyra-keep-'));
  [kept, recorded] = [[], []];
});
afterEach(() => rmSync(workspace, { recursive: true }));

const changes: ChangeLog = {
  blobsOf: () => ({
    async keep({ bytes }) {
      kept.push(Buffer.from(bytes).toString());
    },
    fetch: async () => undefined,
  }),
  async record(change) {
    recorded.push(change);
  },
};
const keep = createKeepEdits({ changes, locate: createLocatePath([]) });
const place = () => ({ runId: 'run', callId: 'call', workspace, timeoutMs: 1000 });
const at = (path: string) => join(workspace, path);
const file = (text: string) => ({
  kind: 'file' as const,
  sha256: sha256Hex(Buffer.from(text)),
  sizeBytes: text.length,
  mode: 0o644,
});

test('what was there is kept before, and what was made of it is written down after', async () => {
  writeFileSync(at('a.txt'), 'before', { mode: 0o644 });
  writeFileSync(at('same.txt'), 'same', { mode: 0o644 });
  const settle = await keep([at('a.txt'), at('a.txt'), at('same.txt'), at('new/deep/b.txt')], place());
  expect(kept).toEqual(['before', 'same']);
  writeFileSync(at('a.txt'), 'after');
  mkdirSync(at('new/deep'), { recursive: true });
  writeFileSync(at('new/deep/b.txt'), 'made', { mode: 0o644 });
  await settle();
  expect(recorded).toEqual([
    {
      runId: 'run',
      callId: 'call',
      workspace,
      changes: {
        files: [
          { path: 'a.txt', before: file('before'), after: file('after') },
          { path: 'new/deep/b.txt', before: { kind: 'absent' }, after: file('made') },
        ],
        directories: ['new', 'new/deep'],
      },
    },
  ]);
});

test('what is outside, no file, or too large is left out', async () => {
  mkdirSync(at('folder'));
  writeFileSync(at('large'), Buffer.alloc(8 * 1024 * 1024 + 1));
  const settle = await keep(['/etc/hostname', at('folder'), at('large')], place());
  await settle();
  expect(kept).toEqual([]);
  expect(recorded.flatMap(({ changes: { files } }) => files)).toEqual([]);
});

test('nothing is kept from behind a link that was put there after it was looked where the path leads', async () => {
  const outside = mkdtempSync(join(tmpdir(), 'palyra-outside-'));
  writeFileSync(join(outside, 'key'), 'secret');
  symlinkSync(outside, at('folder'));
  // As it was when the path was looked up: a folder of the workspace.
  const settle = await createKeepEdits({ changes, locate: async ({ path }) => ({ path, kind: 'plain' }) })(
    [at('folder/key')],
    place(),
  );
  await settle();
  expect([kept, recorded.flatMap(({ changes: { files } }) => files)]).toEqual([[], []]);
  rmSync(outside, { recursive: true });
});
