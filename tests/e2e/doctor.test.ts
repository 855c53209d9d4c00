import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { ordinaryUser, removeOrdinaryUser, runAsOrdinaryUser } from '@palyra/testkit';
import { afterAll, describe, expect, test } from 'vitest';
import { runConfined } from '../integration/confined-user.ts';
import { HOST_PATH, runOnHost } from './host.ts';

const CHECKOUT = new URL('../../', import.meta.url).pathname;
const MAIN = 'apps/cli/src/main.ts';
const isRoot = process.geteuid?.() === 0;

interface Layer {
  readonly layer: string;
  readonly state: string;
}

interface Report {
  readonly tiers: readonly { readonly tier: string; readonly state: string; readonly layers: readonly Layer[] }[];
}

const TEXT_OR_NULL: unknown = expect.toSatisfy((value) => value === null || typeof value === 'string');
const LAYER: unknown = {
  layer: expect.stringMatching(/^[a-z_]+$/),
  state: expect.stringMatching(/^(?:enforced|partly|missing)$/),
  detail: expect.any(String),
  fix: TEXT_OR_NULL,
};

/** Scripts hold this shape. */
function expectShape(report: unknown, uid: unknown): asserts report is Report {
  const layers: unknown = expect.toSatisfy(Array.isArray);
  const tier = { state: expect.any(String), reason: TEXT_OR_NULL, fix: TEXT_OR_NULL, layers };
  expect(report).toEqual({
    kernel: expect.any(String),
    architecture: process.arch,
    uid,
    bubblewrap: { path: expect.stringMatching(/^\//), version: expect.stringMatching(/^\d/) },
    tiers: [
      { tier: 'C', executor: 'sandbox_tier_c_linux_bubblewrap', ...tier },
      { tier: 'B', executor: 'sandbox_tier_b', ...tier },
    ],
    clients: [],
    warnings: [],
  });
  for (const { layers: found } of (report as Report).tiers) {
    expect(found.length).toBeGreaterThan(10);
    expect(found).toEqual(found.map(() => LAYER));
  }
}

afterAll(removeOrdinaryUser);

function asWeAre(...args: readonly string[]) {
  return runOnHost({
    argv: ['node', 'apps/cli/bin/palyra.mjs', 'doctor', ...args],
    cwd: CHECKOUT,
    env: { PATH: HOST_PATH },
  });
}

describe('palyra doctor', () => {
  test('says tier by tier what this host enforces, in 80 columns, and exits with 0', async () => {
    const { exitCode, stdout, stderr } = await asWeAre();
    expect([exitCode, stderr]).toEqual([0, '']);
    const lines = stdout.split('\n');
    expect(lines.slice(0, 4)).toEqual([
      expect.stringMatching(/^This host: Linux \S+ on \S+, as (?:root|uid \d+)$/),
      '',
      'Tier C (strict): a wall around each command',
      expect.stringMatching(/^available: (?:all 24|\d+ of 24) layers hold(?: in full)?\.$/),
    ]);
    expect(lines[5]).toMatch(/^ {2}launcher {11}enforced {2}Starts; its SHA-256 begins with [0-9a-f]{16}\.$/);
    expect(lines[6]).toMatch(/^ {2}bubblewrap {9}enforced {2}\d\S*, \/\S+$/);
    expect(lines).toContain("Tier B (limits): limits and no wall, the host's files stay in sight");
    expect(lines.filter((line) => line.length > 80)).toEqual([]);
    expect(stdout).not.toContain('\u001b');
  });

  test('has one document for programs', async () => {
    const { exitCode, stdout, stderr } = await asWeAre('--json');
    expect([exitCode, stderr]).toEqual([0, '']);
    const report: unknown = JSON.parse(stdout);
    expectShape(report, process.geteuid?.());
    expect(report.tiers.map(({ state }) => state)).toEqual(['available', 'available']);
  });

  test('works for an ordinary user', async () => {
    const { exitCode, stdout, stderr } = await runAsOrdinaryUser({ script: MAIN, args: ['doctor', '--json'] });
    expect([exitCode, stderr]).toEqual([0, '']);
    const report: unknown = JSON.parse(stdout);
    expectShape(
      report,
      expect.toSatisfy((uid) => uid !== 0),
    );
    expect(report.tiers.map(({ state }) => state)).toEqual(['available', 'available']);
  });

  test.skipIf(!isRoot)('exits with 5 where there is no Tier C, and says what to do [needs: root]', async () => {
    const { exitCode, stdout, stderr } = await runConfined('a masked /proc', MAIN, ['doctor']);
    expect([exitCode, stderr]).toEqual([5, '']);
    expect(stdout).toMatch(
      /^This host: Linux \S+ on \S+, as uid \d+\n\nTier C \(strict\): a wall around each command\nunavailable: A \/proc of its own is refused/,
    );
    expect(stdout).toContain('\nfix: Start the container with --security-opt systempaths=unconfined');
    expect(stdout).toContain(
      '\n  identity           missing   Not reached: nothing starts here.\n  and 21 more like that\n',
    );
  });

  test.skipIf(!isRoot)('works without the launcher, and says how to get it [needs: root]', async () => {
    const { checkout } = await ordinaryUser();
    // The user's own copy: nobody else runs it.
    const program = join(checkout, `packages/sandbox/native/build/linux-${process.arch}/palyra-launcher`);
    renameSync(program, `${program}.away`);
    try {
      const { exitCode, stdout, stderr } = await runAsOrdinaryUser({ script: MAIN, args: ['doctor'] });
      expect([exitCode, stderr]).toEqual([5, '']);
      expect(stdout.match(/unavailable: There is no launcher for this machine\.\nfix: Run the set-up/g)).toHaveLength(
        2,
      );
      expect(stdout).toMatch(/\n {2}bubblewrap {9}enforced /);
    } finally {
      renameSync(`${program}.away`, program);
    }
  });
});
