// T-15: something that runs later is planted with a file tool: where only git’s own settings lead, or beside a file that
// was approved.
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type GatewayToolsPlace, makeGatewayToolsPlace } from '../integration/gateway-tools-place.ts';

let place: GatewayToolsPlace;

beforeAll(async () => {
  place = await makeGatewayToolsPlace();
  place.put('.git/HEAD', 'ref: refs/heads/main\n');
  place.put('.git/config', '[core]\n\thooksPath = tools/hooks\n');
  for (const name of ['.git/objects', '.git/refs', 'tools/hooks', '.claude']) {
    mkdirSync(join(place.workspace, name), { recursive: true });
  }
  place.put('tools/hooks/pre-commit', 'original\n', 0o755);
  place.put('.claude/settings.json', '{}\n');
  place.put('.claude/hook.sh', 'original\n', 0o755);
  await place.settle();
});
afterAll(async () => {
  await place.close();
});

test('a hook in a directory that only git’s settings name is not planted, and nobody is told that it was', async () => {
  const write = (path: string) => place.call('palyra.fs.write', { path, content: 'planted\n', executable: true });
  for (const path of ['tools/hooks/pre-commit', 'tools/hooks/post-commit']) {
    expect([path, (await write(path)).kind]).toEqual([path, 'failed']);
  }
  expect(place.text('tools/hooks/pre-commit')).toBe('original\n');
  expect(existsSync(join(place.workspace, 'tools/hooks/post-commit'))).toBe(false);
});

test('a repository that only its content gives away gets no hooks either, and nobody is told that it did', async () => {
  const files = ['config', 'HEAD', 'objects/x', 'refs/x', 'hooks/post-update'].map((name) => `bare/${name}`);
  const content = (path: string) =>
    path.endsWith('HEAD') ? 'ref: refs/heads/main\n' : path.endsWith('config') ? '[core]\n\tbare = true\n' : 'x\n';
  const patch = files
    .map((path) => {
      const lines = content(path).split('\n').slice(0, -1);
      return `--- /dev/null\n+++ b/${path}\n@@ -0,0 +1,${lines.length} @@\n${lines.map((line) => `+${line}\n`).join('')}`;
    })
    .join('');
  const result = await place.call('palyra.fs.apply_patch', { patch });
  expect(existsSync(join(place.workspace, 'bare/hooks/post-update'))).toBe(false);
  expect(result).toMatchObject({ kind: 'unknown_outcome', code: 'file.protected' });
});

test('what cargo, bazel and other repositories’ programs start is asked about before a file tool writes it', async () => {
  const paths = '.cargo/config.toml one/.cargo/config .bazelrc .hg/hgrc .jj/repo/config.toml .husky/pre-commit'.split(
    ' ',
  );
  for (const path of paths) {
    const plan = await place.plan('palyra.fs.write', { path, content: 'planted\n' });
    if (plan.kind === 'refused') throw new Error(plan.message);
    expect([path, plan.enforced.protectedPaths]).toEqual([path, [join(place.workspace, path)]]);
  }
  const plain = await place.plan('palyra.fs.write', { path: 'Cargo.toml', content: '[package]\n' });
  expect(plain).toMatchObject({ enforced: { protectedPaths: [] } });
});

test('an approval of one protected file opens no other in the same directory', async () => {
  const plan = await place.plan('palyra.fs.write', { path: '.claude/settings.json', content: '{"a":1}\n' });
  if (plan.kind === 'refused') throw new Error(plan.message);
  const { input, ...prepared } = plan.prepared as { readonly input: object };
  const other = { ...plan, prepared: { ...prepared, input: { ...input, path: '.claude/hook.sh' } } };
  expect(await place.execute('palyra.fs.write', other, { needsBoundBytes: true })).toMatchObject({
    kind: 'failed',
    code: 'file.protected',
    output: { effect: 'none' },
  });
  expect(place.text('.claude/hook.sh')).toBe('original\n');
});
