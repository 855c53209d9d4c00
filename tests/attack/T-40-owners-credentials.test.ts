/**
 * T-40, T-41: root runs palyrad, and a tool has the user whose workspace it is: that user's keys and logins are no more the tool's than
 * root's are, and no workspace is among them.
 */
import { chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Daemon, startDaemon } from './sandbox-daemon.ts';
import { IS_ROOT, python, tierB, tierC } from './sandboxed.ts';
import { makeWhereabouts } from './whereabouts.ts';

const OWNER = 76_543;
const SECRET = 'the secret of the owner';
const FILES = ['.ssh/id_ed25519', '.netrc', '.claude/.credentials.json'];

/** As many as a large machine has. */
const OTHERS = Array.from({ length: 2000 }, (_, at) => `u${at}:x:${200_000 + at}:100::/home/u${at}:/bin/sh\n`).join('');

const READ = `
for path in NAMES:
  try: print(open(path).read())
  except OSError: print('no')
`;

describe.runIf(IS_ROOT)('root’s palyrad, and a workspace of somebody else [needs: root]', () => {
  const owners = makeWhereabouts(OWNER);
  const roots = mkdtempSync('/tmp/palyra-attack-');
  const place = { ...owners, uid: 0, home: join(roots, 'home'), palyraHome: join(roots, 'home/.palyra') };
  let daemon: Daemon;

  beforeAll(async () => {
    mkdirSync(place.palyraHome, { recursive: true });
    for (const name of FILES) {
      const path = join(owners.home, name);
      mkdirSync(join(path, '..'), { recursive: true });
      writeFileSync(path, SECRET, { mode: 0o600 });
      for (const each of [path, join(path, '..')]) chownSync(each, OWNER, OWNER);
    }
    // The machine's accounts are left alone: this one is seen by that daemon only.
    const accounts = join(roots, 'passwd');
    writeFileSync(accounts, `${OTHERS}owner:x:${OWNER}:${OWNER}::${owners.home}:/bin/sh\n`);
    const withAccount = ['unshare', '--mount', 'sh', '-c', 'mount --bind "$0" /etc/passwd && exec "$@"', accounts];
    daemon = await startDaemon(place, { asRoot: withAccount });
  });
  afterAll(async () => {
    await daemon.close();
    for (const path of [owners.base, roots]) rmSync(path, { recursive: true });
  });

  test.each([
    ['B', tierB],
    ['C', tierC],
  ] as const)('Tier %s: a tool of the owner’s reads none of them', async (_, profile) => {
    const paths = FILES.map((name) => join(owners.home, name));
    writeFileSync(join(owners.workspace, 'mine'), SECRET, { mode: 0o600 });
    chownSync(join(owners.workspace, 'mine'), OWNER, OWNER);
    // In the program, for among its arguments they are refused before anything runs.
    const names = JSON.stringify([join(owners.workspace, 'mine'), ...paths]);
    const { stdout } = await daemon.run(python(READ.replace('NAMES', names)), profile(owners));
    expect(stdout).toBe(`${SECRET}\n${'no\n'.repeat(paths.length)}`);
  });

  test.each(['.ssh', ''])('nor is “%s” of the owner’s home shown because a profile says so', async (name) => {
    const path = join(owners.home, name);
    const ended = await daemon.run(python('pass'), tierC(owners, { readOnlyPaths: [path] }));
    expect([ended.kind, ended.detail]).toEqual(['refused', 'sandbox.invalid_profile']);
  });

  test('a place of the owner’s credentials is no workspace', async () => {
    const ended = await daemon.run(python('pass'), tierB({ workspace: join(owners.home, '.ssh') }));
    expect([ended.kind, ended.detail]).toEqual(['refused', 'sandbox.unsafe_workspace']);
  });
});
