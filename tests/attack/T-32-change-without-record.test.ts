// T-32: a file is changed and nothing is left of what it was: a crash in between, a full disk. T-17: or so much is kept that
// the disk is full. T-41: by an id that leads elsewhere.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sha256Hex, systemClock } from '@palyra/primitives';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ChangeLog } from '../../packages/gateway/src/tools/change-log.ts';
import { createFileToolDefinitions } from '../../packages/gateway/src/tools/file-tools.ts';
import { createKeptChanges } from '../../packages/gateway/src/tools/kept-changes.ts';
import { executePlan, type GatewayToolsPlace, makeGatewayToolsPlace } from '../integration/gateway-tools-place.ts';
import { sandboxProfile } from '../sandbox-profile.ts';

let place: GatewayToolsPlace;

beforeAll(async () => {
  place = await makeGatewayToolsPlace();
  await place.settle();
});
afterAll(async () => {
  await place.close();
});

async function writeWith(changes: ChangeLog, path: string) {
  const { fileTools } = place;
  const tools = createFileToolDefinitions({
    fileTools,
    changes,
    clock: systemClock,
    profileFor: (root) => sandboxProfile(root),
  });
  const write = tools.find(({ metadata }) => metadata.name === 'palyra.fs.write');
  if (write === undefined) throw new Error('There is no such tool.');
  const at = { runId: 'R1', callId: 'C1', workspace: place.workspace, timeoutMs: 20_000 };
  return executePlan(write, await write.plan({ path, content: 'new\n' }, at));
}

test('what was there, and what becomes of it, is written down before it is changed', async () => {
  place.put('a.txt', 'old\n');
  const seen: string[] = [];
  const changes: ChangeLog = {
    blobsOf: (runId) => ({
      ...place.kept.blobsOf(runId),
      keep: async ({ bytes }) => void seen.push(`kept ${Buffer.from(bytes).toString()}`),
    }),
    record: async () => void seen.push(`recorded, there is ${place.text('a.txt')}`),
  };
  expect(await writeWith(changes, 'a.txt')).toMatchObject({ kind: 'completed' });
  expect(seen).toEqual(['kept old\n', 'recorded, there is old\n']);
  expect(place.text('a.txt')).toBe('new\n');
});

test('what cannot be written down is not changed', async () => {
  place.put('b.txt', 'old\n');
  const changes: ChangeLog = { ...place.kept, record: () => Promise.reject(new Error('ENOSPC')) };
  expect(await writeWith(changes, 'b.txt')).toMatchObject({
    kind: 'failed',
    code: 'file.not_kept',
    output: { effect: 'none' },
  });
  expect(place.text('b.txt')).toBe('old\n');
});

test('what was written down and never done is undone without harm', async () => {
  place.put('c.txt', 'old\n');
  const state = (text: string) => ({ kind: 'file', sha256: sha256Hex(text), sizeBytes: 4, mode: 0o644 }) as const;
  const files = [{ path: 'c.txt', before: state('old\n'), after: state('new\n') }];
  await place.kept.record({
    runId: 'R5',
    callId: 'C1',
    workspace: place.workspace,
    changes: { files, directories: [] },
  });
  expect(await place.kept.undo({ runId: 'R5', fileTools: place.fileTools })).toMatchObject({
    calls: [{ restored: [], conflicts: [] }],
  });
  expect(place.text('c.txt')).toBe('old\n');
});

test('a run that overwrites large files again and again changes nothing more when its room is used up', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'palyra-kept-'));
  try {
    const changes = createKeptChanges({ directory, bytesOfRun: 6 });
    place.put('d.txt', 'one\n');
    expect(await writeWith(changes, 'd.txt')).toMatchObject({ kind: 'completed' });
    place.put('d.txt', 'two\n');
    expect(await writeWith(changes, 'd.txt')).toMatchObject({ kind: 'failed', code: 'file.not_kept' });
    expect(place.text('d.txt')).toBe('two\n');
  } finally {
    rmSync(directory, { recursive: true });
  }
});

test('what somebody else put among the kept contents is not put into the workspace', async () => {
  place.put('e.txt', 'old\n');
  const runId = 'R6';
  await place.call('palyra.fs.write', { path: 'e.txt', content: 'new\n' }, { runId });
  const digest = sha256Hex('old\n');
  writeFileSync(join(place.base, 'home/.palyra/changes/blobs', digest.slice(0, 2), digest), 'evil\n');
  expect(await place.kept.undo({ runId, fileTools: place.fileTools })).toMatchObject({
    kind: 'stopped',
    code: 'file.conflict',
  });
  expect(place.text('e.txt')).toBe('new\n');
});

test('an id of a run leads nowhere else', async () => {
  const changes = { files: [], directories: [] };
  for (const runId of ['..', '../../x', 'a/b', '', 'a\0b']) {
    await expect(place.kept.changesOf(runId)).rejects.toThrow('not the id of a run');
    await expect(place.kept.forget(runId)).rejects.toThrow('not the id of a run');
    await expect(
      place.kept.record({
        runId,
        callId: 'C',
        workspace: '/',
        changes: { ...changes, files: [{ path: 'x', before: { kind: 'absent' }, after: { kind: 'absent' } }] },
      }),
    ).rejects.toThrow('not the id of a run');
  }
});
