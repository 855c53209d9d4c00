import { chmodSync, cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSandbox, type Sandbox } from '@palyra/sandbox';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { startDaemon } from '../attack/sandbox-daemon.ts';
import { IS_ROOT, makeWhereabouts } from '../attack/whereabouts.ts';
import { sandboxProfile } from '../sandbox-profile.ts';

let base: string;
let sandbox: Sandbox;
const at = (path: string) => join(base, path);

beforeEach(async () => {
  base = mkdtempSync(join(tmpdir(), 'palyra-toolchains-'));
  // As root the tool is somebody else, who must get there.
  chmodSync(base, 0o755);
  for (const each of ['home/.local/bin', 'home/.palyra', 'work']) mkdirSync(at(each), { recursive: true });
  install('1');
  const operator = { path: `${at('home/.local/bin')}:/usr/bin:/bin`, home: at('home'), environment: {} };
  sandbox = await createSandbox({
    operator: { ...operator, palyraHome: at('home/.palyra') },
    logger: { error: () => undefined },
    pool: 'off',
  });
});
afterEach(async () => {
  await sandbox.close();
  rmSync(base, { recursive: true });
});

/** As programs do it that keep themselves up to date: each version by itself, and a link to the one that counts. */
function install(version: string): void {
  const versions = at('home/.local/share/updating/versions');
  rmSync(versions, { recursive: true, force: true });
  mkdirSync(versions, { recursive: true });
  writeFileSync(join(versions, version), `#!/bin/sh\necho ${version}\n`, { mode: 0o755 });
  rmSync(at('home/.local/bin/updating'), { force: true });
  symlinkSync(join(versions, version), at('home/.local/bin/updating'));
}

async function saidBy(argv: readonly [string, ...string[]]): Promise<string> {
  const result = await sandbox.run({ argv }, sandboxProfile(at('work'), { toolchains: 'operator' }));
  return 'output' in result ? Buffer.from(result.output.stdout).toString() : result.message;
}

test('a program of the operator that was updated meanwhile is found in its new place', async () => {
  expect(await saidBy(['updating'])).toBe('1\n');
  install('2');
  expect(await saidBy(['updating'])).toBe('2\n');
});

test('one that is gone is in nobody else’s way', async () => {
  expect(await saidBy(['updating'])).toBe('1\n');
  rmSync(at('home/.local/share/updating'), { recursive: true });
  rmSync(at('home/.local/bin/updating'));
  expect(await saidBy(['echo', 'hello'])).toBe('hello\n');
});

// Of Java's settings there is a directory for each version; in a mount namespace of the daemon's own.
test.runIf(IS_ROOT)('a part of /etc that was uninstalled is in nobody’s way, either [needs: root]', async () => {
  const place = makeWhereabouts(0);
  const etc = join(place.base, 'etc');
  cpSync('/etc', etc, { recursive: true, verbatimSymlinks: true });
  mkdirSync(join(etc, 'java-99-openjdk'));
  const mounted = ['unshare', '--mount', '--propagation', 'private', '--', 'sh', '-c', MOUNTED_OVER, etc];
  const daemon = await startDaemon(place, { asRoot: mounted });
  try {
    const look = () => daemon.run({ argv: ['ls', '-d', '/etc/java-99-openjdk'] }, sandboxProfile(place.workspace));
    expect(await look()).toMatchObject({ kind: 'completed', stdout: '/etc/java-99-openjdk\n' });
    rmSync(join(etc, 'java-99-openjdk'), { recursive: true });
    expect(await look()).toMatchObject({ kind: 'completed', stdout: '' });
  } finally {
    await daemon.close();
    rmSync(place.base, { recursive: true });
  }
});

const MOUNTED_OVER = 'mount --bind "$0" /etc; exec "$@"';
