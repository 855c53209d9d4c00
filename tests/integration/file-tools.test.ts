import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readdirSync, statSync, symlinkSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { FileToolResult } from '../../packages/gateway/src/file-tools/file-tool-result.ts';
import { type FileToolsPlace, makeFileToolsPlace } from './file-tools-place.ts';

let place: FileToolsPlace;
beforeAll(async () => {
  place = await makeFileToolsPlace();
});
afterAll(async () => {
  await place.close();
});

const sha256 = (content: string | Uint8Array) => createHash('sha256').update(content).digest('hex');
const outputOf = (result: FileToolResult) => {
  if (result.kind === 'completed') return result.output as Readonly<Record<string, unknown>>;
  throw new Error(`${result.code}: ${result.message}`);
};
const pathsOf = (result: FileToolResult, field: string) =>
  (outputOf(result)[field] as readonly { readonly path: string }[]).map(({ path }) => path);

describe('reading', () => {
  test('gives lines, where they are, and the digest of the whole', async () => {
    place.put('read/a.txt', 'one\ntwo\nthree\nfour');
    const input = { path: 'read/a.txt', first_line: 2, line_limit: 2 };
    expect(outputOf(await place.run('read', input))).toEqual({
      path: 'read/a.txt',
      size_bytes: 18,
      sha256: sha256('one\ntwo\nthree\nfour'),
      encoding: 'utf8',
      content: 'two\nthree\n',
      truncated: true,
      first_line: 2,
      line_count: 2,
      lossy: false,
    });
    expect(await place.run('read', { path: 'read/a.txt', first_line: 9 })).toMatchObject({
      code: 'file.invalid_input',
    });
  });

  test('cuts between characters, and says so', async () => {
    place.put('read/long.txt', 'ä'.repeat(1000));
    const output = outputOf(await place.run('read', { path: 'read/long.txt', max_bytes: 5 }));
    expect(output).toMatchObject({ content: 'ää', truncated: true, lossy: false });
  });

  test('does not take bytes for text', async () => {
    place.put('read/bytes', Buffer.from([0, 1, 2, 255]));
    place.put('read/latin', Buffer.from([0x61, 0xe4, 0x62]));
    expect(await place.run('read', { path: 'read/bytes' })).toMatchObject({ code: 'file.binary' });
    const bytes = { path: 'read/bytes', encoding: 'base64', byte_offset: 1, max_bytes: 2 };
    expect(outputOf(await place.run('read', bytes))).toMatchObject({ content: 'AQI=', truncated: true });
    expect(outputOf(await place.run('read', { path: 'read/latin' }))).toMatchObject({
      content: 'a\uFFFDb',
      lossy: true,
    });
  });

  test('follows links that stay inside, absolute ones too, and names the real path', async () => {
    place.put('read/real.txt', 'real');
    symlinkSync('real.txt', join(place.workspace, 'read/link'));
    symlinkSync(join(place.workspace, 'read'), join(place.workspace, 'absolute'));
    for (const path of ['read/link', 'absolute/link', join(place.workspace, 'read/link'), 'read/../read/./link']) {
      expect(outputOf(await place.run('read', { path }))).toMatchObject({ path: 'read/real.txt', content: 'real' });
    }
  });

  test('a file of a terabyte costs no more than was asked for', async () => {
    place.put('read/sparse', 'begin\n');
    truncateSync(join(place.workspace, 'read/sparse'), 1024 ** 4);
    const output = outputOf(await place.run('read', { path: 'read/sparse', encoding: 'base64', max_bytes: 5 }));
    expect(output).toMatchObject({ content: 'YmVnaW4=', size_bytes: 1024 ** 4, sha256: null, truncated: true });
    expect(outputOf(await place.run('search', { pattern: 'begin', path: 'read' }))).toMatchObject({
      skipped: { too_large: 1 },
    });
  });
});

describe('listing', () => {
  test('gives names in order, with kinds', async () => {
    place.put('list/b/c', 'x', 0o755);
    place.put('list/a', '');
    symlinkSync('nowhere', join(place.workspace, 'list/link'));
    execFileSync('mkfifo', [join(place.workspace, 'list/pipe')]);
    expect(outputOf(await place.run('list', { path: 'list', depth: 2 }))).toEqual({
      path: 'list',
      entries: [
        { path: 'list/a', kind: 'file', size_bytes: 0, executable: false },
        { path: 'list/b', kind: 'directory' },
        { path: 'list/b/c', kind: 'file', size_bytes: 1, executable: true },
        { path: 'list/link', kind: 'link', target: 'nowhere' },
        { path: 'list/pipe', kind: 'other' },
      ],
      truncated: false,
      unreadable: 0,
    });
  });

  test('ends at its limits, and says so', async () => {
    for (let index = 0; index < 50; index += 1) place.put(`many/${index}`, '');
    expect(outputOf(await place.run('list', { path: 'many', limit: 10 }))).toMatchObject({
      truncated: true,
      entries: { length: 10 },
    });
    const few = place.make({ limits: { visitedEntries: 20 } });
    const result = await few.run('palyra.fs.list', { path: 'many' }, place.context);
    await few.close();
    expect(outputOf(result)).toMatchObject({ truncated: true, entries: { length: 20 } });
  });
});

describe('searching', () => {
  beforeAll(() => {
    place.put('search/.gitignore', 'ignored/\n*.log\n!keep.log\n');
    place.put('search/src/one.ts', 'first\nconst Needle = 1;\nthird\n');
    place.put('search/src/two.js', 'needle\r\n');
    place.put('search/ignored/x.ts', 'needle\n');
    place.put('search/x.log', 'needle\n');
    place.put('search/keep.log', 'needle\n');
    place.put('search/.hidden', 'needle\n');
    place.put('search/.env', 'needle=1\n');
    place.put('search/bytes', Buffer.from('needle\0'));
  });

  test('finds lines with what is around them', async () => {
    const input = { path: 'search', pattern: 'Needle', context_lines: 1 };
    expect(outputOf(await place.run('search', input))['matches']).toEqual([
      { path: 'search/src/one.ts', line: 2, column: 7, text: 'const Needle = 1;', before: ['first'], after: ['third'] },
    ]);
  });

  test('leaves out what is ignored, hidden, binary or secret, as it was asked', async () => {
    const found = async (more: object) =>
      pathsOf(await place.run('search', { path: 'search', pattern: 'needle', ...more }), 'matches');
    expect(await found({})).toEqual(['search/keep.log', 'search/src/two.js']);
    expect(await found({ ignore_files: false, globs: ['*.{ts,log}'] })).toEqual([
      'search/ignored/x.ts',
      'search/keep.log',
      'search/x.log',
    ]);
    expect(await found({ hidden: true, globs: ['!*.log'] })).toEqual(['search/.hidden', 'search/src/two.js']);
    const all = await place.run('search', { path: 'search', pattern: 'needle', hidden: true });
    expect(outputOf(all)).toMatchObject({ skipped: { binary: 1, protected: 1 } });
  });

  test('takes regular expressions, and ends whatever they are', async () => {
    const found = async (pattern: string, more = {}) =>
      pathsOf(await place.run('search', { path: 'search', pattern, kind: 'regex', ...more }), 'matches');
    expect(await found('^needle$')).toEqual(['search/keep.log', 'search/src/two.js']);
    expect(await found('NEED[l-m]{1}e\\b', { ignore_case: true, globs: ['*.ts'] })).toEqual(['search/src/one.ts']);
    place.put('bomb/text', `${'a'.repeat(50_000)}!\n`);
    for (const pattern of ['(a+)+$', '(a|a)*b', '(a*)*(a*)*(a*)*b']) {
      expect(await found(pattern, { path: 'bomb' })).toEqual([]);
    }
    expect(await place.run('search', { pattern: '(a)\\1', kind: 'regex' })).toMatchObject({
      code: 'file.pattern_refused',
    });
  });

  test('ends at its limits, and says which', async () => {
    place.put('search-many/text', 'x\n'.repeat(500));
    const output = outputOf(await place.run('search', { path: 'search-many', pattern: 'x', limit: 7 }));
    expect(output).toMatchObject({ stopped_by: 'matches', matches: { length: 7 } });
  });
});

describe('writing', () => {
  test('makes directories and files, and tells what to undo', async () => {
    const result = await place.run('write', { path: 'write/new/x.sh', content: 'hi\n', executable: true });
    expect(result).toMatchObject({
      output: { path: 'write/new/x.sh', size_bytes: 3, before: null, after: sha256('hi\n') },
      changes: {
        files: [
          { path: 'write/new/x.sh', before: { kind: 'absent' }, after: { kind: 'file', sha256: sha256('hi\n') } },
        ],
        directories: ['write', 'write/new'],
      },
    });
    expect(statSync(join(place.workspace, 'write/new/x.sh')).mode & 0o777).toBe(0o755);
    const root = statSync(place.workspace);
    expect(statSync(join(place.workspace, 'write/new/x.sh')).uid).toBe(root.uid);
  });

  test('keeps what was there before it is gone, and its mode', async () => {
    place.put('write/kept.sh', 'old', 0o750);
    expect((await place.run('write', { path: 'write/kept.sh', content: 'new' })).kind).toBe('completed');
    expect(Buffer.from(place.blobs.get(sha256('old')) ?? []).toString()).toBe('old');
    expect(statSync(join(place.workspace, 'write/kept.sh')).mode & 0o777).toBe(0o750);
    expect(readdirSync(join(place.workspace, 'write')).filter((name) => name.startsWith('.palyra'))).toEqual([]);
  });

  test('does nothing when what was there cannot be kept', async () => {
    place.put('write/precious', 'precious');
    const blobs = { keep: () => Promise.reject(new Error('full')), fetch: async () => undefined };
    const result = await place.run('write', { path: 'write/precious', content: 'x' }, { blobs });
    expect(result).toMatchObject({ kind: 'failed', code: 'file.not_kept', effect: 'none' });
    expect(place.text('write/precious')).toBe('precious');
  });

  test('holds to what was expected', async () => {
    place.put('write/expected', 'now');
    const write = (expectation: string) =>
      place.run('write', { path: 'write/expected', content: 'next', expect: expectation });
    expect(await write('absent')).toMatchObject({ code: 'file.exists' });
    expect(await write(sha256('then'))).toMatchObject({ code: 'file.conflict' });
    expect(await write(sha256('now'))).toMatchObject({ kind: 'completed' });
  });

  test('refuses what is no file, what is too large, and a workspace that may only be read', async () => {
    expect(await place.run('write', { path: 'write', content: '' })).toMatchObject({ code: 'file.not_regular' });
    expect(await place.run('write', { path: 'write/kept.sh/x', content: '' })).toMatchObject({
      code: 'file.not_directory',
    });
    const small = place.make({ limits: { fileBytes: 10 } });
    const large = { path: 'write/large', content: 'x'.repeat(11) };
    expect(await small.run('palyra.fs.write', large, place.context)).toMatchObject({ code: 'file.too_large' });
    await small.close();
    const workspace = { root: place.workspace, access: 'read-only' } as const;
    const reader = place.make({ profile: { workspace } });
    expect(await reader.run('palyra.fs.write', { path: 'x', content: '' }, place.context)).toMatchObject({
      code: 'file.not_permitted',
      effect: 'none',
    });
    await reader.close();
  });
});

describe('patching', () => {
  const git = (...args: readonly string[]) =>
    execFileSync('git', ['-c', 'user.name=x', '-c', 'user.email=x@x', ...args], {
      cwd: join(place.base, 'repository'),
      encoding: 'utf8',
    });

  test('does what git recorded: changes, new and deleted files, renames and modes', async () => {
    const repository = join(place.base, 'repository');
    mkdirSync(repository);
    const lines = (count: number) => Array.from({ length: count }, (_, index) => `line ${index}\n`).join('');
    const put = (path: string, content: string, mode = 0o644) => {
      place.put(`../repository/${path}`, content, mode);
    };
    git('init', '-q');
    put('tree/modified', lines(50));
    put('tree/moved from', lines(30));
    put('tree/deleted', 'gone\n');
    put('tree/mode', 'x\n');
    put('tree/swap-a', lines(20));
    put('tree/no end', 'no end');
    git('add', '-A');
    git('commit', '-qm', 'before');
    execFileSync('cp', ['-r', join(repository, 'tree'), join(place.workspace, 'tree')]);

    put('tree/modified', lines(50).replace('line 3\n', 'three\n').replace('line 40\n', ''));
    git('mv', 'tree/moved from', 'tree/moved to');
    put('tree/moved to', lines(30).replace('line 9\n', 'nine\n'));
    git('rm', '-q', 'tree/deleted');
    put('tree/sub/new ä', 'new\n');
    put('tree/empty', '');
    chmodSync(join(repository, 'tree/mode'), 0o755);
    put('tree/no end', 'still no end');
    git('add', '-A');

    const result = await place.run('apply_patch', { patch: git('diff', '--cached', '-M') });
    expect(pathsOf(result, 'files').toSorted()).toEqual(
      ['empty', 'deleted', 'mode', 'modified', 'moved to', 'no end', 'sub/new ä']
        .map((name) => `tree/${name}`)
        .toSorted(),
    );
    const states = (root: string) =>
      execFileSync(
        'sh',
        ['-c', 'cd "$1" && find tree -type f -printf "%m %p " -exec sha256sum {} ";" | sort', '-', root],
        {
          encoding: 'utf8',
        },
      );
    expect(states(place.workspace)).toBe(states(repository));

    const changes = result.kind === 'completed' ? result.changes : undefined;
    expect(changes?.files).toHaveLength(8);
    const undone = await place.tools.undo(changes ?? { files: [], directories: [] }, place.context);
    expect(undone).toMatchObject({ kind: 'completed', output: { conflicts: [], unchanged: [] } });
    git('reset', '-q', '--hard');
    git('clean', '-qfd');
    expect(states(place.workspace)).toBe(states(repository));
    expect(existsSync(join(place.workspace, 'tree/sub'))).toBe(false);
  });

  const twoFiles = (first: string, second: string) =>
    `--- a/${first}\n+++ b/${first}\n@@ -1 +1 @@\n-old\n+new\n--- a/${second}\n+++ b/${second}\n@@ -1 +1 @@\n-other\n+new\n`;

  test('does nothing when one hunk does not fit, and says which', async () => {
    place.put('patch/a', 'old\n');
    place.put('patch/b', 'unexpected\n');
    expect(await place.run('apply_patch', { patch: twoFiles('patch/a', 'patch/b') })).toMatchObject({
      code: 'file.patch_mismatch',
      message:
        'Hunk 1 of patch/b (line 8 of the patch) does not fit at line 1: the patch expects "other", the file has "unexpected".',
      path: 'patch/b',
      hunk: 1,
      line: 1,
      effect: 'none',
    });
    expect(place.text('patch/a')).toBe('old\n');
  });

  test('puts back what it did when a later file cannot be changed', async () => {
    place.put('patch/first', 'old\n');
    place.put('patch/closed/victim', 'old\n');
    chmodSync(join(place.workspace, 'patch/closed'), 0o555);
    const remove = '--- a/patch/closed/victim\n+++ /dev/null\n@@ -1 +0,0 @@\n-old\n';
    const make = '--- /dev/null\n+++ b/patch/made/deep/file\n@@ -0,0 +1 @@\n+x\n';
    const patch = `--- a/patch/first\n+++ b/patch/first\n@@ -1 +1 @@\n-old\n+new\n${make}${remove}`;
    const result = await place.run('apply_patch', { patch });
    chmodSync(join(place.workspace, 'patch/closed'), 0o755);
    expect(result).toMatchObject({ code: 'file.not_permitted', path: 'patch/closed/victim', effect: 'rolled_back' });
    expect([place.text('patch/first'), place.text('patch/closed/victim')]).toEqual(['old\n', 'old\n']);
    expect(readdirSync(join(place.workspace, 'patch')).toSorted()).toEqual(['a', 'b', 'closed', 'first']);
  });

  test('takes names that trade places for what they are, and nothing twice', async () => {
    place.put('trade/a', 'one\n');
    place.put('trade/b', 'two\n');
    const rename = (from: string, to: string) =>
      `diff --git a/${from} b/${to}\nsimilarity index 100%\nrename from ${from}\nrename to ${to}\n`;
    const trade = rename('trade/a', 'trade/b') + rename('trade/b', 'trade/a');
    expect((await place.run('apply_patch', { patch: trade })).kind).toBe('completed');
    expect([place.text('trade/a'), place.text('trade/b')]).toEqual(['two\n', 'one\n']);
    const twice = rename('trade/a', 'trade/c') + rename('trade/b', 'trade/c');
    expect(await place.run('apply_patch', { patch: twice })).toMatchObject({ code: 'file.patch_malformed' });
    expect(await place.run('apply_patch', { patch: rename('trade/a', 'trade/b') })).toMatchObject({
      code: 'file.exists',
    });
  });
});

describe('undoing', () => {
  const write = async (path: string, content: string) => {
    const result = await place.run('write', { path, content });
    if (result.kind !== 'completed' || result.changes === undefined) throw new Error('It was not written.');
    return result.changes;
  };

  test('puts back what was, and its own undoing brings it again', async () => {
    place.put('undo/a', 'before');
    const undone = await place.tools.undo(await write('undo/a', 'after'), place.context);
    expect(place.text('undo/a')).toBe('before');
    if (undone.kind !== 'completed' || undone.changes === undefined) throw new Error('It was not undone.');
    await place.tools.undo(undone.changes, place.context);
    expect(place.text('undo/a')).toBe('after');
  });

  test('touches nothing that changed since', async () => {
    place.put('undo/one', 'before');
    place.put('undo/two', 'before');
    const [one, two] = [await write('undo/one', 'after'), await write('undo/two', 'after')];
    const both = { files: [...one.files, ...two.files], directories: [] };
    place.put('undo/one', 'mine');
    expect(await place.tools.undo(both, place.context)).toMatchObject({ code: 'file.conflict', path: 'undo/one' });
    expect(place.text('undo/two')).toBe('after');
    const skipping = await place.tools.undo(both, place.context, { conflicts: 'skip' });
    expect(outputOf(skipping)).toEqual({ restored: ['undo/two'], unchanged: [], conflicts: ['undo/one'] });
    expect([place.text('undo/one'), place.text('undo/two')]).toEqual(['mine', 'before']);
  });

  test('says when what was there is not to be had', async () => {
    place.put('undo/lost', 'before');
    const changes = await write('undo/lost', 'after');
    const blobs = { ...place.context.blobs, fetch: async () => undefined };
    expect(await place.tools.undo(changes, { ...place.context, blobs })).toMatchObject({ code: 'file.conflict' });
    expect(place.text('undo/lost')).toBe('after');
  });
});
