import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { RunId } from '@palyra/primitives';
import { expect, test } from 'vitest';
import { makeCrashCall } from './gateway-crash-call.ts';

const CHILD = fileURLToPath(new URL('./gateway-crash-child.ts', import.meta.url));

function dieAt(point: string, root: string, flow: string) {
  const { signal, stdout, stderr } = spawnSync(
    process.execPath,
    ['--conditions=palyra-source', CHILD, root, point, flow],
    { encoding: 'utf8', timeout: 30_000 },
  );
  return { signal, run: stdout.trim() as RunId, stderr };
}

/** How the call ends for whoever goes on with what the killed process left, and how often the effect happened in all. */
const POINTS: readonly (readonly [point: string, end: string, effects: number])[] = [
  ['before intent', 'completed', 1],
  ['after intent', 'gateway.interrupted', 0],
  ['after effect', 'gateway.interrupted', 1],
  ['before attest', 'gateway.interrupted', 1],
  ['after attest', 'completed', 1],
];

/** With an approval in between; what comes after the intent is the same. */
const ASKED: typeof POINTS = [
  ['before append-2', 'completed', 1],
  ['after append-2', 'completed', 1],
  ['after intent', 'gateway.interrupted', 0],
];

const ALL = [
  ...POINTS.map((each) => ['allowed', ...each] as const),
  ...ASKED.map((each) => ['asked', ...each] as const),
];

// T-32, T-01: no effect without an intent, none twice, and no end that is made up.
test.each(ALL)(
  'a call that is %s and killed %s ends as %s, with %i effects in all',
  async (flow, point, end, effects) => {
    const root = mkdtempSync(join(tmpdir(), 'palyra-gateway-'));
    try {
      mkdirSync(join(root, 'work'));
      const { run, ...died } = dieAt(point, root, flow);
      expect(died).toEqual({ signal: 'SIGKILL', stderr: '' });
      expect(await makeCrashCall({ root, flow, run })).toEqual({ run, end, verdict: 'sound' });
      const found = existsSync(join(root, 'effects')) ? readFileSync(join(root, 'effects'), 'utf8').length : 0;
      expect(found).toBe(effects);
    } finally {
      rmSync(root, { recursive: true });
    }
  },
);
