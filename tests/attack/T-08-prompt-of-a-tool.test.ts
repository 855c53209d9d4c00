// T-08: what the approver of a tool call is shown is not all of what would be done. T-24: or it shows a secret. T-15: and by
// what a plan says about a file that may not be read, its content is guessed. T-02: or it asks about what cannot be done.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type GatewayToolsPlace, makeGatewayToolsPlace } from '../integration/gateway-tools-place.ts';
import { uniqueMark } from './sandboxed.ts';

let place: GatewayToolsPlace;
const secret = uniqueMark();

beforeAll(async () => {
  place = await makeGatewayToolsPlace();
  place.put('.env', `TOKEN=${secret}\n`);
  place.put('.claude/.env', `TOKEN=${secret}\n`);
  place.put('CLAUDE.md', 'text\n');
  place.put('tool.sh', '#!/bin/sh\nevil\n', 0o755);
  await place.settle();
});
afterAll(async () => {
  await place.close();
});

describe('a command is shown with', () => {
  test.each([
    ['what it is fed', { argv: ['sh'], stdin: 'rm -rf everything' }, 'rm -rf everything'],
    ['its variables', { argv: ['git', 'status'], environment: { GIT_PAGER: 'sh -c evil' } }, 'sh -c evil'],
  ])('%s', async (_, input, hidden) => {
    const plan = await place.plan('palyra.process.run', input);
    expect(plan.kind === 'planned' && JSON.stringify(plan.shown)).toContain(hidden);
  });
});

test.each([
  ['a hook', 'hooks', '.git/hooks/pre-commit'],
  ['an agent’s settings', 'settings', '.claude/hook.sh'],
])('bytes that nobody was shown are not moved to where they run: %s', async (_, __, to) => {
  const patch = `diff --git a/tool.sh b/${to}\nsimilarity index 100%\nrename from tool.sh\nrename to ${to}\n`;
  expect(await place.plan('palyra.fs.apply_patch', { patch })).toMatchObject({
    kind: 'refused',
    code: 'file.protected',
  });
  expect(existsSync(join(place.workspace, to))).toBe(false);
});

test('a bit that makes a file a program is in the diff', async () => {
  const plan = await place.plan('palyra.fs.write', { path: 'CLAUDE.md', content: 'text\n', executable: true });
  expect(plan).toMatchObject({ shown: { diff: expect.stringContaining('new mode 100755') } });
});

test('a name with line breaks adds no lines to the diff', async () => {
  const path = 'x\n+++ b/harmless.txt\n@@ -1 +1 @@\n-a\n+b\n/CLAUDE.md';
  const plan = await place.plan('palyra.fs.write', { path, content: 'evil\n' });
  const lines = plan.kind === 'planned' && plan.shown.kind === 'diff' ? plan.shown.diff.split('\n') : [];
  expect(lines.filter((line) => line.startsWith('+'))).toEqual([expect.stringMatching(/^\+\+\+ "b\/x\\012/), '+evil']);
});

describe.each(['.env', '.claude/.env'])('of a file that looks like a secret (%s)', (path) => {
  test('nothing is in what the approver of a write is shown, nor in what is bound', async () => {
    const plan = await place.plan('palyra.fs.write', { path, content: 'TOKEN=\n' });
    expect(plan.kind).toBe('planned');
    const { prepared: _, ...told } = plan as { prepared?: unknown };
    expect(JSON.stringify(told)).not.toContain(secret);
  });

  test('nothing is learned from whether a patch would fit, or what would have to be there', async () => {
    const guess = (content: string) =>
      place.plan('palyra.fs.apply_patch', { patch: `--- a/${path}\n+++ b/${path}\n@@ -1 +1 @@\n-${content}\n+x\n` });
    const [right, wrong] = [await guess(`TOKEN=${secret}`), await guess('TOKEN=wrong')];
    expect([right.kind, wrong.kind]).toEqual(['planned', 'planned']);
    const expected = await place.plan('palyra.fs.write', { path, content: 'x', expect: '0'.repeat(64) });
    expect(expected.kind).toBe('planned');
  });
});

describe('nobody is asked about', () => {
  test.each([
    [
      'a patch that does not fit',
      'palyra.fs.apply_patch',
      { patch: '--- a/CLAUDE.md\n+++ b/CLAUDE.md\n@@ -1 +1 @@\n-nothing\n+x\n' },
    ],
    ['a write over a directory', 'palyra.fs.write', { path: '.claude', content: 'x' }],
    ['hosts where none can be reached', 'palyra.process.run', { argv: ['true'], network: ['example.com'] }],
    ['a program that is not there', 'palyra.process.run', { argv: ['no-such-program'] }],
  ])('%s', async (_, tool, input) => {
    expect((await place.plan(tool, input)).kind).toBe('refused');
  });
});
