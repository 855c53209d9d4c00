import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { listProcesses } from './process-table.ts';
import { LeftBehind, type Reaper, startReaper } from './reaper.ts';

/** `setsid -f` forks, makes a session and lets the parent exit: the sleeper is nobody's child and in nobody's group. */
function leaveDaemon(env: NodeJS.ProcessEnv, seconds: string): void {
  execFileSync('/usr/bin/setsid', ['-f', '/bin/sleep', seconds], { env, stdio: 'ignore' });
}

async function leftBehind(reaper: Reaper): Promise<LeftBehind> {
  const outcome = await reaper.finish().then(
    () => undefined,
    (fault: unknown) => fault,
  );
  if (!(outcome instanceof LeftBehind)) throw new Error(`Nothing was left behind: ${String(outcome)}`);
  return outcome;
}

describe('the reaper', () => {
  let reaper: Reaper | undefined;
  afterEach(async () => {
    await reaper?.finish();
  });

  test('says nothing when the test ended its processes and removed its files', async () => {
    reaper = await startReaper();
    const file = join(tmpdir(), 'made-and-removed');
    writeFileSync(file, '');
    rmSync(file);
    spawnSync('/bin/true');
    await reaper.finish();
    expect(existsSync(reaper.directory)).toBe(false);
  });

  test.for([
    ['with our environment', process.env],
    ['with an empty environment', {}],
  ] as const)('names and ends a double-forked daemon %s', async ([, env]) => {
    reaper = await startReaper({ graceMs: 50 });
    leaveDaemon(env, '4242');
    const left = await leftBehind(reaper);
    expect(left.processes).toEqual([{ pid: expect.any(Number), command: '/bin/sleep 4242' }]);
    expect(left.message).toContain(`process ${left.processes[0]?.pid}: /bin/sleep 4242`);
    expect(listProcesses().map(({ pid }) => pid)).not.toContain(left.processes[0]?.pid);
  });

  test('names a direct child that lost both marks', async () => {
    reaper = await startReaper({ graceMs: 50 });
    const child = spawn('/usr/bin/prlimit', ['--msgqueue=4096:4096', '/bin/sleep', '4243'], {
      env: {},
      stdio: 'ignore',
    });
    const left = await leftBehind(reaper);
    expect(left.processes.map(({ pid }) => pid)).toEqual([child.pid]);
  });

  test('names files left in the temporary directory and removes them', async () => {
    reaper = await startReaper();
    mkdirSync(join(tmpdir(), 'left'));
    writeFileSync(join(tmpdir(), 'left', 'secret.key'), '');
    const left = await leftBehind(reaper);
    expect(left.files).toEqual(['left', join('left', 'secret.key')]);
    expect(left.message).toContain('file left/secret.key');
    expect(existsSync(reaper.directory)).toBe(false);
  });

  test('leaves alone what ran before it started', async () => {
    const older = spawn('/bin/sleep', ['4244'], { stdio: 'ignore' });
    onTestFinished(() => {
      older.kill('SIGKILL');
    });
    reaper = await startReaper({ graceMs: 50 });
    await reaper.finish();
    expect(older.exitCode).toBeNull();
    expect(listProcesses().map(({ pid }) => pid)).toContain(older.pid);
  });

  test('leaves alone what such a one starts meanwhile, and not what the test itself does', async () => {
    const older = spawn('/bin/sh', ['-c', 'read line; /bin/sleep 4245 & echo $!; wait'], {
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    onTestFinished(() => {
      older.kill('SIGKILL');
    });
    reaper = await startReaper({ graceMs: 50 });
    older.stdin.write('now\n');
    const [answer] = (await once(older.stdout, 'data')) as [Buffer];
    const started = Number(answer.toString());
    onTestFinished(() => {
      process.kill(started, 'SIGKILL');
    });
    const own = spawn('/bin/sleep', ['4246'], { stdio: 'ignore' });
    expect((await leftBehind(reaper)).processes).toEqual([{ pid: own.pid, command: '/bin/sleep 4246' }]);
    expect(listProcesses().map(({ pid }) => pid)).toContain(started);
  });

  test('refuses to watch two tests of one process at once', async () => {
    reaper = await startReaper();
    await expect(startReaper()).rejects.toThrow('run these tests in sequence');
  });

  test('puts TMPDIR back', async () => {
    const before = tmpdir();
    reaper = await startReaper();
    expect(tmpdir()).toBe(reaper.directory);
    await reaper.finish();
    expect(tmpdir()).toBe(before);
  });
});

test('as a fixture and as hooks it fails the test that left something, and only that one', { timeout: 60_000 }, () => {
  // Inside the checkout, where `vitest` resolves.
  const cache = fileURLToPath(new URL('../../../.cache/', import.meta.url));
  mkdirSync(cache, { recursive: true });
  const root = mkdtempSync(join(cache, 'reaper-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const source = `
    import { execFileSync } from 'node:child_process';
    import { writeFileSync } from 'node:fs';
    import { tmpdir } from 'node:os';
    import { describe, test as base } from 'vitest';
    import { reapAfterEachTest, withReaper } from ${JSON.stringify(pathToFileURL(join(import.meta.dirname, 'reaper.ts')).pathname)};
    const test = withReaper(base);
    const daemon = () => execFileSync('/usr/bin/setsid', ['-f', '/bin/sleep', '4245'], { env: {}, stdio: 'ignore' });
    test('tidy', () => {});
    test('daemon', daemon);
    test('file', ({ reaper }) => writeFileSync(tmpdir() + '/f', reaper.directory));
    test('tidy again', () => {});
    describe('hooks', () => {
      reapAfterEachTest();
      base('hooked daemon', daemon);
      base('hooked tidy', () => {});
    });
  `;
  writeFileSync(join(root, 'left.test.mjs'), source);
  writeFileSync(
    join(root, 'vitest.config.mjs'),
    'export default { test: { include: ["*.test.mjs"], pool: "forks" } };',
  );
  const report = join(root, 'report.json');
  const vitest = fileURLToPath(new URL('../../../node_modules/vitest/vitest.mjs', import.meta.url));
  spawnSync(process.execPath, [vitest, 'run', '--root', root, '--reporter=json', `--outputFile=${report}`], {
    cwd: root,
    env: { PATH: process.env['PATH'] },
  });
  const { testResults } = JSON.parse(readFileSync(report, 'utf8'));
  const outcomes = testResults[0].assertionResults.map((result: { title: string; status: string }) => [
    result.title,
    result.status,
  ]);
  expect(Object.fromEntries(outcomes)).toEqual({
    tidy: 'passed',
    daemon: 'failed',
    file: 'failed',
    'tidy again': 'passed',
    'hooked daemon': 'failed',
    'hooked tidy': 'passed',
  });
});
