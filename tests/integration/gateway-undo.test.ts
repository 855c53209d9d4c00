import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Run } from '@palyra/gateway';
import type { CallId } from '@palyra/primitives';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type DaemonHouse, openDaemonHouse } from './daemon-house.ts';

let house: DaemonHouse;
let run: Run;

beforeEach(async () => {
  house = await openDaemonHouse();
  writeFileSync(join(house.workspace.root, 'a.txt'), 'before a\n');
  writeFileSync(join(house.workspace.root, 'b.txt'), 'before b\n');
  run = await house.daemon.gateway.startRun(house.agent, { workspace: house.workspace });
});
afterEach(() => house.close());

async function write(path: string, content: string): Promise<CallId> {
  const result = await run.call({ tool: 'palyra.fs.write', input: JSON.stringify({ path, content }) });
  expect(result.outcome.kind).toBe('completed');
  return result.call_id as CallId;
}

const text = (path: string) => readFileSync(join(house.workspace.root, path), 'utf8');

test('a run is undone but for what somebody changed since, and both are on record', async () => {
  const { daemon, agent } = house;
  const [a, b] = [await write('a.txt', 'agent a\n'), await write('b.txt', 'agent b\n')];
  writeFileSync(join(house.workspace.root, 'b.txt'), 'mine\n');
  expect(await daemon.gateway.undo({ run: run.id, by: agent })).toEqual({
    kind: 'undone',
    restored: [{ callId: a, path: 'a.txt' }],
    skipped: [{ callId: b, path: 'b.txt', reason: 'changed_since' }],
  });
  expect([text('a.txt'), text('b.txt')]).toEqual(['before a\n', 'mine\n']);
  const { entries } = await daemon.journal.query({ run: run.id, kinds: ['run.undo'] });
  const [begun] = entries;
  expect(entries).toMatchObject([
    { actor: 'agent:coder', data: { stage: 'begun', principal: 'agent:coder' } },
    { actor: 'agent:coder', data: { stage: 'ended', begun: begun?.seq, outcome: 'undone', restored: 1, skipped: 1 } },
  ]);
  expect(await house.verdict()).toBe('sound');
});

test('an operator undoes one call, and its name is on record', async () => {
  const { daemon, operator } = house;
  const [a, b] = [await write('a.txt', 'agent a\n'), await write('b.txt', 'agent b\n')];
  expect(await daemon.gateway.undo({ run: run.id, call: a, by: operator })).toMatchObject({
    restored: [{ callId: a, path: 'a.txt' }],
    skipped: [],
  });
  expect([text('a.txt'), text('b.txt')]).toEqual(['before a\n', 'agent b\n']);
  const { entries } = await daemon.journal.query({ call: a, kinds: ['run.undo'] });
  expect(entries.map(({ actor }) => actor)).toEqual(['user:ada', 'user:ada']);
  // What was undone is not undone twice; the rest still is.
  expect(await daemon.gateway.undo({ run: run.id, by: operator })).toMatchObject({ restored: [{ callId: b }] });
});
