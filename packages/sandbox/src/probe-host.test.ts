import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { BUBBLEWRAP_LAYERS } from './backends/bubblewrap/probe.ts';
import { LIMITS_LAYERS } from './backends/limits/probe.ts';
import { probeHost } from './probe-host.ts';

test('without a launcher both tiers are unavailable, with the fix, and nothing is left behind', async () => {
  const temporaryDirectory = mkdtempSync(join(tmpdir(), 'palyra-probe-test-'));
  const report = await probeHost({
    operator: { path: '/usr/bin', home: '/nonexistent', palyraHome: '/nonexistent/.palyra', environment: {} },
    logger: { error: () => undefined },
    temporaryDirectory,
    launcherProgram: '/nonexistent/palyra-launcher',
  });
  expect(report.tiers.map(({ tier, state, reason }) => [tier, state, reason])).toEqual([
    ['C', 'unavailable', 'There is no launcher for this machine.'],
    ['B', 'unavailable', 'There is no launcher for this machine.'],
  ]);
  expect(report.tiers.map(({ layers }) => layers.map(({ layer }) => layer))).toEqual([
    BUBBLEWRAP_LAYERS,
    LIMITS_LAYERS,
  ]);
  expect(report.tiers.map(({ fix, layers }) => [fix !== undefined, layers[0]?.state, layers[0]?.fix === fix])).toEqual([
    [true, 'missing', true],
    [true, 'missing', true],
  ]);
  expect(readdirSync(temporaryDirectory)).toEqual([]);
  rmSync(temporaryDirectory, { recursive: true });
});
