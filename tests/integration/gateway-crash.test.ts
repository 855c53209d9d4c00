import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const CHILD = fileURLToPath(new URL('./gateway-crash-child.ts', import.meta.url));

function start(...args: readonly string[]) {
  const { signal, stdout, stderr } = spawnSync(process.execPath, ['--conditions=palyra-source', CHILD, ...args], {
    encoding: 'utf8',
    timeout: 30_000,
  });
  return { signal, lines: stdout.trim().split('\n'), stderr };
}

/** What the second process says, and how often the effect happened in all. */
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
test.each(ALL)('a call that is %s and killed %s ends as %s, with %i effects in all', (flow, point, end, effects) => {
  const root = mkdtempSync(join(tmpdir(), 'palyra-gateway-'));
  try {
    mkdirSync(join(root, 'work'));
    const first = start(root, point, flow);
    expect({ signal: first.signal, stderr: first.stderr }).toEqual({ signal: 'SIGKILL', stderr: '' });
    const [run = ''] = first.lines;
    const second = start(root, 'never', flow, run);
    expect(second).toEqual({ signal: null, lines: [run, end, 'sound'], stderr: '' });
    const found = existsSync(join(root, 'effects')) ? readFileSync(join(root, 'effects'), 'utf8').length : 0;
    expect(found).toBe(effects);
  } finally {
    rmSync(root, { recursive: true });
  }
});
