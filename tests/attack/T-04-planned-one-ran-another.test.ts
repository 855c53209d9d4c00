// T-04: between the plan that somebody approved and its execution the bytes are exchanged. T-03: or where a path leads.
import { existsSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type GatewayToolsPlace, makeGatewayToolsPlace } from '../integration/gateway-tools-place.ts';

let place: GatewayToolsPlace;
const APPROVED = { needsBoundBytes: true };
const changed = { kind: 'failed', code: 'gateway.changed_meanwhile', output: { effect: 'none' } };

beforeAll(async () => {
  place = await makeGatewayToolsPlace();
  await place.settle();
});
afterAll(async () => {
  await place.close();
});

async function bound(planning: ReturnType<GatewayToolsPlace['plan']>): ReturnType<GatewayToolsPlace['plan']> {
  const plan = await planning;
  if (plan.kind === 'planned') await plan.bind();
  return plan;
}

test('a script that was swapped after it was approved does not run', async () => {
  place.put('script.sh', '#!/bin/sh\necho approved\n', 0o755);
  const plan = await bound(place.plan('palyra.process.run', { argv: ['./script.sh'] }));
  const unseen = await place.plan('palyra.process.run', { argv: ['./script.sh'] });
  place.put('script.sh', '#!/bin/sh\necho evil > ran\n', 0o755);
  // Nor does one that nobody bound while it was shown: looking for its bytes now would find others.
  expect(await place.execute('palyra.process.run', unseen, APPROVED)).toMatchObject({ code: 'sandbox.not_bindable' });
  expect(await place.execute('palyra.process.run', plan, APPROVED)).toMatchObject({
    kind: 'refused',
    code: 'sandbox.changed_since_approved',
  });
  expect(existsSync(join(place.workspace, 'ran'))).toBe(false);
});

test('what cannot be tied to its bytes runs only where nobody looks at it, and nobody is asked about it', async () => {
  place.put('huge', '#!/bin/sh\n', 0o755);
  truncateSync(join(place.workspace, 'huge'), 129 * 1024 * 1024);
  const plan = await place.plan('palyra.process.run', { argv: ['./huge'] });
  // What is asked is bound first, whichever policy asks: `approve` ends here.
  expect(plan.kind === 'planned' && (await plan.bind())).toMatchObject({
    kind: 'refused',
    code: 'sandbox.not_bindable',
    message: expect.stringContaining('too large'),
  });
  expect(await place.execute('palyra.process.run', plan, APPROVED)).toMatchObject({
    kind: 'refused',
    code: 'sandbox.not_bindable',
  });
  rmSync(join(place.workspace, 'huge'));
});

describe('what was approved as a diff is not done to another file', () => {
  test('that was written since', async () => {
    place.put('a/CLAUDE.md', 'one\n');
    const plan = await place.plan('palyra.fs.write', { path: 'a/CLAUDE.md', content: 'two\n' });
    place.put('a/CLAUDE.md', 'the operator’s own words\n');
    expect(await place.execute('palyra.fs.write', plan, APPROVED)).toMatchObject(changed);
    expect(place.text('a/CLAUDE.md')).toBe('the operator’s own words\n');
  });

  test('that was the same when nothing would have changed', async () => {
    place.put('b/CLAUDE.md', 'old\n');
    const plan = await place.plan('palyra.fs.write', { path: 'b/CLAUDE.md', content: 'old\n' });
    place.put('b/CLAUDE.md', 'new\n');
    expect(await place.execute('palyra.fs.write', plan, APPROVED)).toMatchObject(changed);
    expect(place.text('b/CLAUDE.md')).toBe('new\n');
  });

  test('whose other lines are others by now', async () => {
    place.put('c/.envrc.md', 'x\n');
    place.put('c/AGENTS.md', '1\n2\n3\n4\n5\n6\n7\n8\n9\n');
    const patch = '--- a/c/AGENTS.md\n+++ b/c/AGENTS.md\n@@ -1,2 +1,2 @@\n-1\n+one\n 2\n';
    const plan = await place.plan('palyra.fs.apply_patch', { patch });
    place.put('c/AGENTS.md', '1\n2\n3\n4\n5\n6\n7\n8\nevil\n');
    expect(await place.execute('palyra.fs.apply_patch', plan, APPROVED)).toMatchObject(changed);
    expect(place.text('c/AGENTS.md')).toMatch(/^1\n.*evil\n$/s);
  });

  test('that was moved along without being named', async () => {
    place.put('d/tool.sh', 'harmless\n', 0o755);
    const patch =
      'diff --git a/d/tool.sh b/d/other.sh\nsimilarity index 100%\nrename from d/tool.sh\nrename to d/other.sh\n';
    const plan = await place.plan('palyra.fs.apply_patch', { patch });
    place.put('d/tool.sh', 'evil\n', 0o755);
    expect(await place.execute('palyra.fs.apply_patch', plan, APPROVED)).toMatchObject(changed);
    expect(existsSync(join(place.workspace, 'd/other.sh'))).toBe(false);
  });
});

describe('a link that was turned after the plan', () => {
  const turn = (target: string) => {
    const link = join(place.workspace, 'turned.txt');
    rmSync(link, { force: true });
    symlinkSync(target, link);
  };

  test('opens no other protected file than the one that was approved', async () => {
    place.put('e/CLAUDE.md', 'one\n');
    place.put('.git/hooks/pre-commit', 'original\n', 0o755);
    turn('e/CLAUDE.md');
    const plan = await place.plan('palyra.fs.write', { path: 'turned.txt', content: 'planted\n' });
    turn('.git/hooks/pre-commit');
    expect(await place.execute('palyra.fs.write', plan, APPROVED)).toMatchObject({
      kind: 'failed',
      code: 'file.protected',
    });
    expect([place.text('e/CLAUDE.md'), place.text('.git/hooks/pre-commit')]).toEqual(['one\n', 'original\n']);
  });

  test('opens no secret file to a call that was allowed without a question', async () => {
    place.put('.env', 'TOKEN=1\n');
    place.put('plain.txt', 'plain\n');
    turn('plain.txt');
    const plan = await place.plan('palyra.fs.read', { path: 'turned.txt' });
    expect(plan).toMatchObject({ enforced: { secretFiles: [] } });
    turn('.env');
    const result = await place.execute('palyra.fs.read', plan);
    expect(result).toMatchObject({ kind: 'failed', code: 'file.protected' });
    expect(JSON.stringify(result)).not.toContain('TOKEN=1');
  });

  test('leads to no file that nobody was shown', async () => {
    place.put('f/CLAUDE.md', 'one\n');
    place.put('f/plain.txt', 'plain\n');
    turn('f/CLAUDE.md');
    const plan = await place.plan('palyra.fs.write', { path: 'turned.txt', content: 'two\n' });
    turn('f/plain.txt');
    expect(await place.execute('palyra.fs.write', plan, APPROVED)).toMatchObject(changed);
    expect(place.text('f/plain.txt')).toBe('plain\n');
  });
});

test('variables, directory and input are part of what was approved', async () => {
  writeFileSync(join(place.workspace, 'x'), '');
  const profiles = [{}, { environment: { LD_PRELOAD: './x' } }, { cwd: '/tmp' }].map(async (more) => {
    const plan = await place.plan('palyra.process.run', { argv: ['true'], ...more });
    return plan.kind === 'planned' ? plan.profile : plan.code;
  });
  expect(new Set(await Promise.all(profiles)).size).toBe(3);
});
