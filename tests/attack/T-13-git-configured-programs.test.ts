/**
 * T-13, T-12: a command of git that is harmless by its words starts what the repository's configuration names: a filter with
 * `git add`, a driver or `diff.external` with `git diff`. No argument shows it, and no setting of ours answers a key with a name in it.
 */
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { describeBothWays, IS_ROOT, type ProfileChanges, tierB } from './sandboxed.ts';

const GUARDED: ProfileChanges = { interpreters: 'refused' };

describeBothWays((place) => {
  function repository(name: string, settings: Readonly<Record<string, string>>): { cwd: string; ran: string } {
    const cwd = join(place().workspace, name);
    const [ran, program] = [join(cwd, 'ran'), join(cwd, 'program')];
    rmSync(cwd, { recursive: true, force: true });
    mkdirSync(cwd);
    const git = (...argv: readonly string[]) =>
      execFileSync('git', ['-C', cwd, ...argv], { env: { PATH: '/usr/bin:/bin' } });
    git('init', '-q');
    writeFileSync(join(cwd, '.gitattributes'), '*.txt filter=own diff=own\n');
    writeFileSync(join(cwd, 'a.txt'), 'a\n');
    git('add', '.');
    writeFileSync(join(cwd, 'a.txt'), 'another\n');
    writeFileSync(program, `#!/bin/sh\ntouch ${ran}\ncat "$@"\n`);
    chmodSync(program, 0o755);
    for (const [key, value] of Object.entries(settings)) git('config', key, value.replace('PROGRAM', program));
    if (IS_ROOT) execFileSync('chown', ['-R', `${place().uid}:${place().uid}`, cwd]);
    return { cwd, ran };
  }

  test('a filter is started where interpreters are allowed, so the attack itself works', async () => {
    const { cwd, ran } = repository('project', { 'filter.own.clean': 'PROGRAM' });
    const { kind, detail } = await place().daemon.run({ argv: ['git', 'add', '.'], cwd }, tierB(place()));
    expect([kind, detail, existsSync(ran)]).toEqual(['completed', '0', true]);
  });

  test.each([
    ['filter.own.clean', 'add .'],
    ['filter.own.process', 'status'],
    ['diff.own.textconv', 'diff'],
    ['diff.own.command', 'diff'],
    ['diff.external', 'diff'],
    ['include.path', 'status'],
  ] as const)('with %s a guarded git is refused, from wherever it is led there', async (key, words) => {
    const { cwd, ran } = repository('project', { [key]: 'PROGRAM' });
    mkdirSync(join(cwd, 'deep'), { recursive: true });
    rmSync(join(place().workspace, 'elsewhere'), { force: true });
    symlinkSync('project/deep', join(place().workspace, 'elsewhere'));
    const [there, below, from, linked] = await Promise.all([
      place().daemon.run({ argv: ['git', ...words.split(' ')], cwd }, tierB(place(), GUARDED)),
      place().daemon.run({ argv: ['git', ...words.split(' ')], cwd: join(cwd, 'deep') }, tierB(place(), GUARDED)),
      place().daemon.run({ argv: ['git', '-C', 'project', ...words.split(' ')] }, tierB(place(), GUARDED)),
      place().daemon.run({ argv: ['git', '-C', 'elsewhere', ...words.split(' ')] }, tierB(place(), GUARDED)),
    ]);
    const details = [there, below, from, linked].map(({ detail }) => detail);
    expect(details).toEqual(Array(4).fill('sandbox.interpreter_refused'));
    expect(existsSync(ran)).toBe(false);
  });

  test('what people have in a configuration, and what git is told otherwise, refuses nothing', async () => {
    const { cwd, ran } = repository('project', {
      'user.name': 'somebody',
      'remote.origin.url': 'https://example.test/x',
      'core.fsmonitor': 'PROGRAM',
      'core.pager': 'PROGRAM',
      'alias.st': 'status',
    });
    const { kind, detail } = await place().daemon.run({ argv: ['git', 'status'], cwd }, tierB(place(), GUARDED));
    expect([kind, detail, existsSync(ran)]).toEqual(['completed', '0', false]);
  });
});
