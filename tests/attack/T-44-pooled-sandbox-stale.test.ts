// T-44: while a sandbox waits for its command, what it has mounted is replaced, unmasked or covered on the host.
import { execFileSync } from 'node:child_process';
import { chownSync, existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { describeBothWays, describeRoot, type Place, sh, tierC, uniqueMark } from './sandboxed.ts';
import { warmDaemon } from './warm-daemon.ts';

/** A workspace of its own for each test, with a file in it. */
function makeWorkspace({ base, uid }: Place, text: string): string {
  const path = join(base, `stale-${uniqueMark()}`);
  mkdirSync(path);
  chownSync(path, uid, uid);
  writeFileSync(join(path, 'which'), text, { mode: 0o644 });
  return path;
}

describeBothWays((place) => {
  test('a workspace with another one in its place is not the one that waits', async () => {
    const workspace = makeWorkspace(place(), 'the old one');
    const profile = tierC({ workspace });
    await using daemon = await warmDaemon(place(), profile);
    renameSync(workspace, `${workspace}-away`);
    renameSync(makeWorkspace(place(), 'the new one'), workspace);
    const { outcome, stdout } = await daemon.run(sh('cat which'), profile);
    expect({ stdout, outcome }).toMatchObject({ stdout: 'the new one', outcome: { pooled: false } });
  });

  test('one that was removed and made anew is not, either', async () => {
    const workspace = makeWorkspace(place(), 'the old one');
    const profile = tierC({ workspace });
    await using daemon = await warmDaemon(place(), profile);
    rmSync(workspace, { recursive: true });
    mkdirSync(workspace);
    chownSync(workspace, place().uid, place().uid);
    writeFileSync(join(workspace, 'which'), 'the new one');
    const { outcome, stdout } = await daemon.run(sh('cat which'), profile);
    expect({ stdout, outcome }).toMatchObject({ stdout: 'the new one', outcome: { pooled: false } });
  });

  test('a masked file that is replaced meanwhile stays masked', async () => {
    const workspace = makeWorkspace(place(), '');
    const [masked, next] = [join(workspace, '.env'), join(workspace, '.env.next')];
    const secret = uniqueMark();
    writeFileSync(masked, 'the old secret', { mode: 0o644 });
    const profile = tierC({ workspace }, { maskedPaths: [masked] });
    await using daemon = await warmDaemon(place(), profile);
    // As editors and tools save a file: the mount on the old one is gone then, in every sandbox.
    writeFileSync(next, secret, { mode: 0o644 });
    renameSync(next, masked);
    const { stdout } = await daemon.run(sh('cat .env'), profile);
    expect(stdout).toBe('');
  });

  test('so does one in a directory that is replaced', async () => {
    const workspace = makeWorkspace(place(), '');
    const secret = uniqueMark();
    const makeSettings = (name: string, text: string) => {
      mkdirSync(join(workspace, name));
      writeFileSync(join(workspace, name, '.env'), text, { mode: 0o644 });
    };
    makeSettings('settings', 'the old secret');
    const profile = tierC({ workspace }, { maskedPaths: [join(workspace, 'settings/.env')] });
    await using daemon = await warmDaemon(place(), profile);
    makeSettings('next', secret);
    renameSync(join(workspace, 'settings'), join(workspace, 'before'));
    renameSync(join(workspace, 'next'), join(workspace, 'settings'));
    const { stdout } = await daemon.run(sh('cat settings/.env'), profile);
    expect(stdout).toBe('');
  });

  test('a file that is masked from now on is, also by those that wait', async () => {
    const workspace = makeWorkspace(place(), '');
    const late = join(workspace, '.env');
    const profile = tierC({ workspace }, { maskedPaths: [late] });
    await using daemon = await warmDaemon(place(), profile);
    // Nothing was there to be masked when they were started.
    writeFileSync(late, uniqueMark(), { mode: 0o644 });
    const { stdout } = await daemon.run(sh('cat .env'), profile);
    expect(stdout).toBe('');
  });
});

/** In a mount namespace of its own, so that this machine stays as it is. */
const ALONE = ['unshare', '--mount', '--propagation', 'private', '--'];
const SYSTEM_DIRECTORY = '/etc/ssl/certs';

describeRoot((place) => {
  test.runIf(existsSync(SYSTEM_DIRECTORY))('what the host mounts over a directory of the system counts', async () => {
    const profile = tierC(place());
    await using daemon = await warmDaemon(place(), profile, { asRoot: ALONE });
    const inNamespace = (...argv: readonly string[]) =>
      execFileSync('nsenter', ['--target', String(daemon.pid), '--mount', '--', ...argv]);
    inNamespace('mount', '-t', 'tmpfs', 'over', SYSTEM_DIRECTORY);
    inNamespace('touch', join(SYSTEM_DIRECTORY, 'revoked'));
    const { stdout } = await daemon.run(sh(`ls ${SYSTEM_DIRECTORY}`), profile);
    expect(stdout).toBe('revoked\n');
  });
});
