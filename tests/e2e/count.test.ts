import { globSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type CheckoutCopy, copyCheckout } from './checkout-copy.ts';
import { runOnHost } from './host.ts';

const IMPORT = "import { beforeAll, describe, expect, it } from 'vitest';\n";

/** `npm run soak` is the shortest way through the runner, the reporter and the count that `npm test` has too. */
describe('the count of tests', () => {
  let copy: CheckoutCopy;
  const count = async (files: Readonly<Record<string, string>>) => {
    for (const [name, source] of Object.entries(files)) {
      writeFileSync(join(copy.path, 'tests/attack', `${name}.soak.test.ts`), IMPORT + source);
    }
    const { exitCode, stdout } = await runOnHost({
      argv: ['npm', 'run', '-s', 'soak'],
      cwd: copy.path,
      env: { NO_COLOR: '1' },
    });
    const lines = stdout.trimEnd().split('\n');
    const notes = lines.filter((line) => /^(suite|skipped|error)/.test(line));
    return { exitCode, notes, last: lines.at(-1) };
  };
  beforeAll(async () => {
    copy = await copyCheckout('installed');
    for (const soak of globSync('{packages,apps,tools,bench}/**/*.soak.test.ts', { cwd: copy.path })) {
      rmSync(join(copy.path, soak));
    }
  });
  beforeEach(() => {
    rmSync(join(copy.path, 'tests'), { recursive: true, force: true });
    mkdirSync(join(copy.path, 'tests/attack'), { recursive: true });
  });
  afterAll(() => copy.remove());

  it('is the last line, and soaks run whole', async () => {
    const source = "it('is whole', () => { expect(process.env['PALYRA_SOAK']).toBe('1'); });";
    expect(await count({ a: source, b: source })).toEqual({
      exitCode: 0,
      notes: ['suite  attack        2 files, 2 passed, 0 failed'],
      last: 'tests: 2 passed, 0 failed, 0 skipped',
    });
  });

  it('lists what another platform runs, with the reason', async () => {
    const source =
      "it('passes', () => {}); it('is seatbelt [platform: darwin]', (test) => test.skip('no sandbox-exec'));";
    expect(await count({ a: source })).toEqual({
      exitCode: 0,
      notes: [
        'suite  attack        1 files, 1 passed, 0 failed',
        'skipped  tests/attack/a.soak.test.ts > is seatbelt [platform: darwin]: no sandbox-exec',
      ],
      last: 'tests: 1 passed, 0 failed, 1 skipped',
    });
  });

  it('fails for a skip without excuse, a todo, a failed test, a broken hook and a file that does not load', async () => {
    const { exitCode, notes, last } = await count({
      a: "it('passes', () => {}); it.skip('is skipped', () => {}); it.todo('is to do');",
      b: "it('fails', () => { expect(1).toBe(2); });",
      c: "describe('group', () => { beforeAll(() => { throw new Error('no cluster'); }); it('needs it', () => {}); });",
      d: "import './missing.ts';",
    });
    expect({ exitCode, last }).toEqual({ exitCode: 1, last: 'tests: 1 passed, 6 failed, 0 skipped' });
    expect(notes.filter((line) => line.startsWith('error'))).toEqual([
      expect.stringContaining('b.soak.test.ts > fails: expected 1 to be 2 // Object.is equality'),
      'error[test.failed]: attack: tests/attack/c.soak.test.ts: no cluster',
      expect.stringMatching(/^error\[test\.failed\]: attack: tests\/attack\/d\.soak\.test\.ts: .*missing\.ts/),
      expect.stringContaining('a.soak.test.ts > is skipped: no reason given'),
      expect.stringContaining('a.soak.test.ts > is to do: no reason given'),
      expect.stringContaining('c.soak.test.ts > group > needs it'),
    ]);
  });

  it('fails for an error that no test caught', async () => {
    const source =
      "it('passes', async () => { void Promise.reject(new Error('stray')); await new Promise(setImmediate); });";
    const { exitCode, last } = await count({ a: source });
    expect({ exitCode, last }).toEqual({ exitCode: 1, last: 'tests: 1 passed, 1 failed, 0 skipped' });
  });

  it('fails for a forgotten only', async () => {
    const { exitCode } = await count({ a: "it.only('alone', () => {}); it('hidden', () => {});" });
    expect(exitCode).toBe(1);
  });
});
