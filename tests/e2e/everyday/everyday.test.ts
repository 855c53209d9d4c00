import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { ordinaryUser, removeOrdinaryUser, runAsOrdinaryUser } from '@palyra/testkit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { BY_DESIGN } from './by-design.ts';
import { EVERYDAY } from './everyday-commands.ts';
import { makeProjects } from './project-files.ts';
import type { BatteryLine, BatterySettings } from './run-battery.ts';
import { fillHome, SECRET } from './toolchain-home.ts';

type Battery = (table: BatteryLine['table'], name: string) => BatteryLine;

const CHECKOUT = fileURLToPath(new URL('../../../', import.meta.url));
const SCRIPT = 'tests/e2e/everyday/run-battery.ts';
const IS_ROOT = process.getuid?.() === 0;
const PATIENCE_MS = 280_000;

let rootBase: string | undefined;
let ordinary: Battery;
let root: Battery;

// All of it runs before the first test, side by side: one after another it would take minutes.
beforeAll(async () => {
  const batteries = await Promise.all([runOrdinary(), ...(IS_ROOT ? [runAsRoot()] : [])]);
  [ordinary, root] = batteries as [Battery, Battery];
}, PATIENCE_MS);

afterAll(async () => {
  await removeOrdinaryUser();
  if (rootBase !== undefined) rmSync(rootBase, { recursive: true, force: true, maxRetries: 3 });
});

describe('started by an ordinary user', () => {
  describeBattery(() => ordinary);
});
describe.runIf(IS_ROOT)('started by root [needs: root]', () => {
  describeBattery(() => root);
});

function describeBattery(battery: () => Battery): void {
  test.each(EVERYDAY)('$project: $name', ({ name, prints }) => {
    const { kind, exitCode, stdout, stderr, protectedChanged } = battery()('everyday', name);
    expect({ kind, exitCode, said: exitCode === 0 ? '' : stderr + stdout, protectedChanged }).toEqual({
      kind: 'completed',
      exitCode: 0,
      said: '',
      protectedChanged: [],
    });
    const shown = stdout.trim();
    const isRight = typeof prints === 'string' ? shown === prints : prints.test(shown);
    // All three, so that a failure shows them.
    expect({ shown, prints, isRight }).toEqual({ shown, prints, isRight: true });
    expect(stdout + stderr).not.toContain(SECRET);
  });

  test.each(BY_DESIGN)('refused by design, with a fix: $name', ({ name, sees, hint }) => {
    const { kind, exitCode, stdout, stderr, hints } = battery()('by design', name);
    // A sanitizer aborts.
    expect(['completed', 'signalled']).toContain(kind);
    expect(exitCode).not.toBe(0);
    expect(stderr + stdout).toMatch(sees);
    expect(hints.map((each) => each.kind)).toContain(hint);
    expect(stdout + stderr).not.toContain(SECRET);
  });

  test.each(BY_DESIGN.filter(({ asks }) => asks !== undefined))('passes once asked for: $name', ({ name }) => {
    expect(battery()('asked', name)).toMatchObject({ kind: 'completed', exitCode: 0 });
  });
}

async function runOrdinary(): Promise<Battery> {
  const { uid, home } = await ordinaryUser();
  const args = [prepare(home, uid)];
  const { stdout, stderr } = await runAsOrdinaryUser({ script: SCRIPT, args, timeoutMs: PATIENCE_MS });
  return readBattery(stdout, stderr);
}

async function runAsRoot(): Promise<Battery> {
  rootBase = mkdtempSync('/tmp/palyra-everyday-');
  // The tool is somebody else, who must get there.
  chmodSync(rootBase, 0o755);
  const home = join(rootBase, 'home');
  mkdirSync(home, { mode: 0o700 });
  const child = spawn(process.execPath, ['--conditions=palyra-source', SCRIPT, prepare(home, 0)], {
    cwd: CHECKOUT,
    env: { PATH: process.env['PATH'], HOME: home },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [stdout, stderr] = await Promise.all([buffer(child.stdout), buffer(child.stderr), once(child, 'close')]);
  return readBattery(stdout.toString(), stderr.toString());
}

function prepare(home: string, uid: number): string {
  const settings: BatterySettings = {
    home,
    searchPath: fillHome(home, uid),
    projects: makeProjects(join(home, 'work'), uid),
  };
  return JSON.stringify(settings);
}

function readBattery(stdout: string, stderr: string): Battery {
  const lines = stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as BatteryLine);
  return (table, name) => {
    const line = lines.find((each) => each.table === table && each.name === name);
    if (line === undefined) throw new Error(`It was not run: ${stderr}`);
    return line;
  };
}
