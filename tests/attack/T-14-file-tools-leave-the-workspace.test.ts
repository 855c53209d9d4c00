// T-14: a file tool is led out of the workspace: by `..`, absolute paths, links of every kind and moment, hard links, /proc,
// and by what hangs whoever opens it. T-17: by what has no end.
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { planWorkerLaunch } from '../../packages/gateway/src/file-tools/worker-launch.ts';
import { type FileToolsPlace, makeFileToolsPlace } from '../integration/file-tools-place.ts';
import { sandboxProfile } from '../sandbox-profile.ts';
import { python, SWAP, uniqueMark } from './sandboxed.ts';

let place: FileToolsPlace;
let outside: string;
const secret = uniqueMark();

beforeAll(async () => {
  place = await makeFileToolsPlace();
  outside = join(place.base, 'outside');
  mkdirSync(outside, { mode: 0o777 });
  writeFileSync(join(outside, 'secret'), `${secret}\n`);
});
afterAll(async () => {
  await place.close();
});

const create = (path: string) => `--- /dev/null\n+++ b/${path}\n@@ -0,0 +1 @@\n+planted\n`;
const modify = (path: string) => `--- a/${path}\n+++ b/${path}\n@@ -1 +1 @@\n-guess\n+planted\n`;

/** Every tool that takes a path, with this one. */
const attempts = (path: string) =>
  [
    ['read', { path }],
    ['list', { path }],
    ['search', { path, pattern: 'mark' }],
    ['write', { path, content: 'planted' }],
    ['apply_patch', { patch: modify(path) }],
    ['apply_patch', { patch: create(`${path}-made`) }],
  ] as const;

async function answersTo(path: string): Promise<readonly string[]> {
  const answers: string[] = [];
  for (const [tool, input] of attempts(path)) {
    const result = await place.run(tool, input);
    expect(JSON.stringify(result)).not.toContain(secret);
    answers.push(result.kind === 'failed' ? result.code : 'completed');
  }
  expect([readdirSync(outside), readFileSync(join(outside, 'secret'), 'utf8')]).toEqual([['secret'], `${secret}\n`]);
  return answers;
}

describe('a path out of the workspace is refused, whatever it looks like', () => {
  test.each([
    ['dot-dot', () => '../outside/secret'],
    ['dot-dot further in', () => 'sub/../../outside/secret'],
    ['dot-dot behind its own name', () => `${place.workspace}/../outside/secret`],
    ['absolute', () => join(outside, 'secret')],
    ['a neighbour that begins like it', () => `${place.workspace}-2/secret`],
    ['a file of the box', () => '/etc/passwd'],
    ['/proc/self/root', () => `/proc/self/root${outside}/secret`],
    ['/proc/self/cwd', () => '/proc/self/cwd/../outside/secret'],
    ['/proc/self/fd', () => '/proc/self/fd/0'],
    ['/proc/1/root', () => `/proc/1/root${outside}/secret`],
  ])('%s', async (_, path) => {
    mkdirSync(join(place.workspace, 'sub'), { recursive: true });
    expect(new Set(await answersTo(path()))).toEqual(new Set(['file.outside_workspace']));
  });
});

describe('a link out of the workspace is followed by nobody', () => {
  test.each([
    ['to a file', () => join(outside, 'secret'), ''],
    ['to a directory', () => outside, '/secret'],
    ['that is relative', () => '../outside/secret', ''],
    ['that dangles', () => join(outside, 'not-there-yet'), ''],
    ['through another one', () => 'chain', '/secret'],
    ['into /proc', () => `/proc/self/root${outside}`, '/secret'],
    ['to an open file', () => '/proc/self/fd/3', ''],
    ['that begins like the workspace', () => `${place.workspace}/../outside`, '/secret'],
  ])('%s', async (_, target, rest) => {
    const [link, chain] = [join(place.workspace, 'link'), join(place.workspace, 'chain')];
    symlinkSync(target(), link);
    symlinkSync(outside, chain);
    // A patch names files: one that is a link itself it refuses as such, and leaves it.
    expect(new Set(await answersTo(`link${rest}`))).toEqual(
      new Set(rest === '' ? ['file.outside_workspace', 'file.not_regular', 'completed'] : ['file.outside_workspace']),
    );
    for (const path of [link, chain, `${link}-made`]) rmSync(path, { force: true });
  });

  test('nor one in a circle', async () => {
    symlinkSync('circle-2', join(place.workspace, 'circle-1'));
    symlinkSync('circle-1', join(place.workspace, 'circle-2'));
    expect(await place.run('read', { path: 'circle-1' })).toMatchObject({ code: 'file.link_loop' });
  });
});

test('the kernel would answer the same: the worker’s box shows nothing outside, and only the workspace can be written', async () => {
  const launch = planWorkerLaunch(sandboxProfile(place.workspace, { writablePaths: [outside], readOnlyPaths: [] }));
  if (launch === undefined) throw new Error('There is no launch in Tier C.');
  const script = [
    `cat ${outside}/secret ../outside/secret /proc/1/root${outside}/secret`,
    'touch inside && echo made',
    `for where in ${outside} / /usr /etc /proc ${launch.profile.readOnlyPaths.join(' ')}; do touch $where/planted && echo planted in $where; done`,
  ].join('; ');
  const result = await place.sandbox.run({ argv: ['sh', '-c', script] }, launch.profile);
  expect('output' in result && Buffer.from(result.output.stdout).toString()).toBe('made\n');
  expect(existsSync(join(outside, 'planted'))).toBe(false);
});

describe('a hard link', () => {
  test('to a file outside is replaced, and the file stays as it is', async () => {
    linkSync(join(outside, 'secret'), join(place.workspace, 'hard'));
    const patch = `--- a/hard\n+++ b/hard\n@@ -1 +1 @@\n-mine\n+patched\n`;
    const written = await place.run('write', { path: 'hard', content: 'mine\n' });
    expect(written.kind).toBe('completed');
    expect((await place.run('apply_patch', { patch })).kind).toBe('completed');
    expect(readFileSync(join(outside, 'secret'), 'utf8')).toBe(`${secret}\n`);
    rmSync(join(place.workspace, 'hard'));
    linkSync(join(outside, 'secret'), join(place.workspace, 'hard'));
    const removal = `--- a/hard\n+++ /dev/null\n@@ -1 +0,0 @@\n-${secret}\n`;
    expect((await place.run('apply_patch', { patch: removal })).kind).toBe('completed');
    expect(readFileSync(join(outside, 'secret'), 'utf8')).toBe(`${secret}\n`);
  });
});

describe('swapped after the check', () => {
  test('a directory for a link into a protected one: nothing is ever planted there', async () => {
    for (const name of ['swap/inner', '.git/hooks']) mkdirSync(join(place.workspace, name), { recursive: true });
    const [inner, link] = [join(place.workspace, 'swap/inner'), join(place.workspace, 'swap/link')];
    symlinkSync('../.git/hooks', link);
    const stop = new AbortController();
    const started = Promise.withResolvers<void>();
    const swapping = place.sandbox.run(python(SWAP, inner, link), sandboxProfile(place.workspace), {
      signal: stop.signal,
      onStart: () => started.resolve(),
    });
    await started.promise;
    const kinds = new Set<string>();
    const hasMetBoth = () => kinds.has('completed') && kinds.has('file.protected');
    for (let index = 0; index < 8 || (index < 200 && !hasMetBoth()); index += 1) {
      const result = await place.run('write', { path: 'swap/inner/hook', content: `planted ${index}` });
      kinds.add(result.kind === 'failed' ? result.code : result.kind);
      expect(readdirSync(join(place.workspace, '.git/hooks'))).toEqual([]);
    }
    stop.abort();
    await swapping;
    // Not because it never came to it: some were written where they should be, some met the link.
    expect(kinds).toContain('completed');
    expect(kinds).toContain('file.protected');
  });

  test('a file that changed, came or went between the look and the word to overwrite is left alone', async () => {
    const change = (path: string) => `--- a/${path}\n+++ b/${path}\n@@ -1 +1 @@\n-old\n+new\n`;
    const meddled = async (patch: string, meddle: () => void) => {
      place.put('meddle/a', 'old\n');
      const keep = async () => meddle();
      return place.run('apply_patch', { patch }, { blobs: { ...place.context.blobs, keep } });
    };
    const refused = { code: 'file.changed', effect: 'none' };
    expect(await meddled(change('meddle/a'), () => place.put('meddle/a', 'theirs\n'))).toMatchObject(refused);
    expect(place.text('meddle/a')).toBe('theirs\n');
    const both = `${change('meddle/a')}${create('meddle/b')}`;
    expect(await meddled(both, () => place.put('meddle/b', 'theirs\n'))).toMatchObject(refused);
    expect([place.text('meddle/a'), place.text('meddle/b')]).toEqual(['old\n', 'theirs\n']);
    const planted = () => {
      rmSync(join(place.workspace, 'meddle/a'));
      symlinkSync(join(outside, 'secret'), join(place.workspace, 'meddle/a'));
    };
    expect(await meddled(change('meddle/a'), planted)).toMatchObject(refused);
    expect(readFileSync(join(outside, 'secret'), 'utf8')).toBe(`${secret}\n`);
    expect(readdirSync(join(place.workspace, 'meddle'))).toEqual(['a', 'b']);
    rmSync(join(place.workspace, 'meddle'), { recursive: true });
  });

  test('the workspace for another directory: a worker that is kept does not answer for it', async () => {
    const root = join(place.base, 'moved');
    mkdirSync(root);
    writeFileSync(join(root, 'file'), 'first');
    const tools = place.make();
    const read = () => tools.run('palyra.fs.read', { path: 'file' }, { ...place.context, workspace: root });
    expect(await read()).toMatchObject({ output: { content: 'first' } });
    renameSync(root, `${root}-before`);
    mkdirSync(root);
    writeFileSync(join(root, 'file'), 'second');
    expect(await read()).toMatchObject({ output: { content: 'second' } });
    await tools.close();
  });
});

describe('what hangs or never ends', () => {
  test('pipes, sockets and devices are answered at once, and not opened', async () => {
    execFileSync('mkfifo', [join(place.workspace, 'pipe')]);
    symlinkSync('/dev/zero', join(place.workspace, 'zero'));
    for (const [tool, input] of [
      ['read', { path: 'pipe' }],
      ['read', { path: 'pipe', encoding: 'base64' }],
      ['write', { path: 'pipe', content: 'x' }],
      ['apply_patch', { patch: modify('pipe') }],
    ] as const) {
      expect(await place.run(tool, input)).toMatchObject({ code: 'file.not_regular' });
    }
    expect(await place.run('read', { path: 'zero' })).toMatchObject({ code: 'file.outside_workspace' });
    expect((await place.run('search', { pattern: 'x' })).kind).toBe('completed');
    expect((await place.run('search', { pattern: 'x', path: 'pipe' })).kind).toBe('completed');
  });

  test('a huge file is neither read whole nor written', async () => {
    place.put('huge', 'x\n');
    truncateSync(join(place.workspace, 'huge'), 1024 ** 4);
    for (const [tool, input] of [
      ['write', { path: 'huge', content: 'x' }],
      ['apply_patch', { patch: modify('huge') }],
    ] as const) {
      expect(await place.run(tool, input)).toMatchObject({ code: 'file.too_large', effect: 'none' });
    }
    expect(await place.run('read', { path: 'huge', first_line: 1000 })).toMatchObject({
      code: expect.stringMatching(/^file\./),
    });
    rmSync(join(place.workspace, 'huge'));
  });

  test('a directory without end, and one without bottom, end at the limits', async () => {
    mkdirSync(join(place.workspace, 'wide'));
    execFileSync('sh', ['-c', 'cd "$1" && seq 1 20000 | xargs touch', '-', join(place.workspace, 'wide')]);
    execFileSync('sh', [
      '-c',
      'cd "$1" && for i in $(seq 100); do mkdir d && cd d; done; echo mark > deep',
      '-',
      place.workspace,
    ]);
    const tools = place.make({ limits: { visitedEntries: 5000 } });
    const found = await tools.run('palyra.fs.search', { pattern: 'mark', path: 'wide' }, place.context);
    expect(found).toMatchObject({ output: { stopped_by: 'entries', matches: [] } });
    expect(await tools.run('palyra.fs.list', { path: 'd', depth: 32 }, place.context)).toMatchObject({
      output: { entries: { length: 32 } },
    });
    await tools.close();
  });

  test('a pattern that backtracks for ever does not', async () => {
    place.put('bomb', `${'a'.repeat(100_000)}!`);
    for (const pattern of ['(a+)+$', '(a|aa)+$', '(.*)*=', '(a*)*b']) {
      const result = await place.run('search', { pattern, kind: 'regex', path: 'bomb' });
      expect(result).toMatchObject({ kind: 'completed', output: { matches: [], stopped_by: 'nothing' } });
    }
  });
});
