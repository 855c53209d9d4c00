import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type GatewayToolsPlace, makeGatewayToolsPlace } from './gateway-tools-place.ts';

let place: GatewayToolsPlace;

beforeAll(async () => {
  place = await makeGatewayToolsPlace();
  await place.settle();
});

afterAll(() => place.close());

test('what a killed palyrad left half-written beside files goes with the undo, and nothing else does', async () => {
  place.put('notes/a.txt', 'old\n');
  await place.call('palyra.fs.write', { path: 'notes/a.txt', content: 'new\n' }, { runId: 'R1' });
  const [change] = await place.kept.changesOf('R1');
  // As it is when everything dies between writing the new content and moving it to its name.
  place.put(`notes/${change?.temporary}-0`, 'new\n');
  place.put('notes/.palyra-of-another-0', 'theirs\n');
  const { kind } = await place.kept.undo({ runId: 'R1', fileTools: place.fileTools });
  expect([kind, place.text('notes/a.txt')]).toEqual(['undone', 'old\n']);
  expect(readdirSync(join(place.workspace, 'notes'))).toEqual(['.palyra-of-another-0', 'a.txt']);
});
