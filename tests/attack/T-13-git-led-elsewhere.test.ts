/**
 * T-13: a guarded git gets its configuration from where the guard does not look: by a `.git` file or a `commondir` that git reads
 * otherwise, in a place beside the workspace that the tool may write, or it is called by the name of one of its commands.
 */
import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Ended } from './sandbox-daemon.ts';
import { describeBothWays, describeOrdinary, IS_ROOT, type Place, type ProfileChanges, tierC } from './sandboxed.ts';

const GUARDED: ProfileChanges = { interpreters: 'refused' };
const DIFF = ['diff', 'HEAD~1', 'HEAD'];

/** Two commits, and a program that is started for each diff between them. Returns what that program makes. */
function evilRepository({ workspace, uid }: Place, at: string): string {
  const [ran, program] = [join(workspace, 'ran'), join(workspace, 'program')];
  for (const path of [at, ran]) rmSync(path, { recursive: true, force: true });
  mkdirSync(at, { recursive: true });
  writeFileSync(program, `#!/bin/sh\ntouch ${ran}\n`);
  chmodSync(program, 0o755);
  const git = (...argv: readonly string[]) =>
    execFileSync('git', ['-C', at, '-c', 'user.name=a', '-c', 'user.email=a@b', ...argv], {
      env: { PATH: '/usr/bin:/bin', GIT_CONFIG_GLOBAL: '/dev/null' },
    });
  git('init', '-q');
  for (const text of ['a', 'b']) {
    writeFileSync(join(at, 'a.txt'), text);
    git('add', '.');
    git('commit', '-qm', text);
  }
  git('branch', 'log', 'HEAD~1');
  git('config', 'diff.external', program);
  give(at, uid);
  return ran;
}

function give(path: string, uid: number): void {
  if (IS_ROOT) execFileSync('chown', ['-hR', `${uid}:${uid}`, path]);
}

const told = ({ kind, detail }: Ended, ran: string) => [kind, detail, existsSync(ran)];
const REFUSED = ['refused', 'sandbox.interpreter_refused', false];
const RAN = ['completed', '0', true];

/** Each makes a directory from which git comes to the repository beside it. */
const WAYS: readonly (readonly [name: string, make: (at: string) => void])[] = [
  [
    'a .git file whose name ends with a space',
    (at) => {
      cpSync(join(at, '../evil/.git'), join(at, 'git '), { recursive: true });
      writeFileSync(join(at, '.git'), 'gitdir: git \n');
    },
  ],
  [
    'a .git file that leads back out of a link',
    (at) => {
      symlinkSync('../evil/.git/objects', join(at, 'objects'));
      writeFileSync(join(at, '.git'), 'gitdir: objects/../../.git\n');
    },
  ],
  [
    'a .git file with many line ends',
    (at) => writeFileSync(join(at, '.git'), `gitdir: ../evil/.git${'\n'.repeat(300_000)}`),
  ],
  [
    'a HEAD beside a commondir',
    (at) => {
      cpSync(join(at, '../evil/.git/HEAD'), join(at, 'HEAD'));
      writeFileSync(join(at, 'commondir'), '../evil/.git\n');
    },
  ],
];

describeBothWays((place) => {
  test.each(WAYS)('%s leads a guarded git nowhere', async (_, make) => {
    const { workspace, daemon, uid } = place();
    const [ran, cwd] = [evilRepository(place(), join(workspace, 'evil')), join(workspace, 'led')];
    rmSync(cwd, { recursive: true, force: true });
    mkdirSync(cwd);
    make(cwd);
    give(cwd, uid);
    const command = { argv: ['git', ...DIFF], cwd };
    expect(told(await daemon.run(command, tierC(place(), GUARDED)), ran)).toEqual(REFUSED);
    expect(told(await daemon.run(command, tierC(place())), ran)).toEqual(RAN);
  });

  test('what a process calls its own may be elsewhere for git, and is refused', async () => {
    const { workspace, daemon } = place();
    const ran = evilRepository(place(), join(workspace, 'evil'));
    const command = { argv: ['git', '-C', `/proc/self/root${workspace}/evil`, ...DIFF] };
    expect(told(await daemon.run(command, tierC(place(), GUARDED)), ran)).toEqual(REFUSED);
    expect(told(await daemon.run(command, tierC(place())), ran)).toEqual(RAN);
  });

  test('a command of git by its own name is that command', async () => {
    const { workspace, daemon, uid } = place();
    const [cwd, ran] = [join(workspace, 'evil'), join(workspace, 'rebased')];
    evilRepository(place(), cwd);
    rmSync(ran, { force: true });
    execFileSync('git', ['config', '-f', join(cwd, '.git/config'), '--unset', 'diff.external']);
    writeFileSync(join(cwd, 'a.sh'), `#!/bin/sh\ntouch ${ran}\n`, { mode: 0o755 });
    give(cwd, uid);
    const rebase = join(execFileSync('git', ['--exec-path'], { encoding: 'utf8' }).trim(), 'git-rebase');
    const names = ['GIT_COMMITTER_NAME', 'GIT_COMMITTER_EMAIL'];
    const environment = Object.fromEntries(names.map((name) => [name, 'a@b']));
    const command = { argv: [rebase, '-x./a.sh', 'log'], cwd, environment };
    expect(told(await daemon.run(command, tierC(place(), GUARDED)), ran)).toEqual(REFUSED);
    expect(told(await daemon.run(command, tierC(place(), { environment: names })), ran)).toEqual(RAN);
  });
});

// Root's own files are nobody's that a tool knows, in another place than the workspace, and git refuses them by itself.
describeOrdinary((place) => {
  test('a repository in another place that the tool may write is looked into as well', async () => {
    const { base, daemon, uid } = place();
    const outside = join(base, 'beside');
    const ran = evilRepository(place(), join(outside, 'evil'));
    give(outside, uid);
    const command = { argv: ['git', '-C', join(outside, 'evil'), ...DIFF] };
    const beside = { writablePaths: [outside] };
    expect(told(await daemon.run(command, tierC(place(), { ...GUARDED, ...beside })), ran)).toEqual(REFUSED);
    expect(told(await daemon.run(command, tierC(place(), beside)), ran)).toEqual(RAN);
  });
});
