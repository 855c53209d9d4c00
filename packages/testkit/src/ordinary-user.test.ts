import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { ordinaryUser, removeOrdinaryUser, runAsOrdinaryUser } from './ordinary-user.ts';

const isRoot = process.getuid?.() === 0;

describe('the ordinary user', { timeout: 30_000 }, () => {
  afterAll(removeOrdinaryUser);

  test('is not root, has no groups, no account and no way to more privileges', async () => {
    const { uid } = await ordinaryUser();
    const { stdout } = await runAsOrdinaryUser({
      argv: ['grep', '-E', '^(Uid|Groups|CapEff|NoNewPrivs):', '/proc/self/status'],
    });
    expect(uid).not.toBe(0);
    expect(stdout).toMatch(new RegExp(`^Uid:\\s+${uid}\\s+${uid}\\s+${uid}\\s+${uid}$`, 'm'));
    expect(stdout).toMatch(/^CapEff:\s+0+$/m);
    if (!isRoot) return;
    expect(stdout).toMatch(/^Groups:\s*$/m);
    expect(stdout).toMatch(/^NoNewPrivs:\s+1$/m);
    expect(readFileSync('/etc/passwd', 'utf8')).not.toMatch(new RegExp(`^[^:]*:[^:]*:${uid}:`, 'm'));
  });

  test('runs our TypeScript from source with its dependencies, from a checkout it can read and not change', async () => {
    const { checkout, uid } = await ordinaryUser();
    const script = 'packages/testkit/src/ordinary-user-probe.ts';
    const { stdout, stderr, exitCode } = await runAsOrdinaryUser({
      script,
      args: ['one'],
      env: { MARK: 'x' },
      stdin: 'in',
    });
    expect({ stderr, exitCode }).toEqual({ stderr: '', exitCode: 0 });
    const report = JSON.parse(stdout);
    expect(report).toEqual({
      uid,
      version: process.version,
      execPath: isRoot ? join(checkout, 'bin/node') : process.execPath,
      file: join(checkout, script),
      primitives: new URL('../../primitives/src/index.ts', `file://${join(checkout, script)}`).href,
      query: 'select "id" from "t"',
      args: ['one'],
      mark: 'x',
      stdin: 'in',
      homeWritable: true,
      checkoutWritable: !isRoot,
    });
  });

  test('runs a script that belongs to no package', async () => {
    const parent = join(import.meta.dirname, '../../../.cache');
    mkdirSync(parent, { recursive: true });
    const cache = mkdtempSync(join(parent, 'script-'));
    onTestFinished(() => rmSync(cache, { recursive: true, force: true }));
    writeFileSync(
      join(cache, 'loose.ts'),
      `import { value } from './beside.ts';\nconsole.log(value satisfies string);\n`,
    );
    writeFileSync(join(cache, 'beside.ts'), `export const value: string = 'beside';\n`);
    const outcome = await runAsOrdinaryUser({ script: join(cache, 'loose.ts') });
    expect(outcome).toEqual({ exitCode: 0, signal: null, stdout: 'beside\n', stderr: '' });
    await expect(runAsOrdinaryUser({ script: '/etc/passwd' })).rejects.toThrow('outside the checkout');
  });

  test('does not inherit our environment', async () => {
    process.env['PALYRA_SECRET_OF_OURS'] = 'leaked';
    onTestFinished(() => {
      delete process.env['PALYRA_SECRET_OF_OURS'];
    });
    expect((await runAsOrdinaryUser({ argv: ['env'] })).stdout).not.toContain('leaked');
  });

  test('is killed with its children when it takes too long', async () => {
    const outcome = await runAsOrdinaryUser({ argv: ['sh', '-c', 'sleep 4246 & sleep 4246'], timeoutMs: 100 });
    expect(outcome.signal).toBe('SIGKILL');
  });

  test('leaves nothing behind', async () => {
    const { home, checkout } = await ordinaryUser();
    await removeOrdinaryUser();
    expect([existsSync(home), isRoot && existsSync(checkout)]).toEqual([false, false]);
  });
});
