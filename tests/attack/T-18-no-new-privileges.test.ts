/**
 * T-18: a setuid program of root gives its powers to a tool. A filter and Landlock rules cannot even be loaded by who might get
 * them so, and facts are compared: here none of them is asked for, and no_new_privs alone is there.
 */
import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { barePlan, launch, openLauncher } from '../integration/launched-job.ts';
import { IS_ROOT } from './sandboxed.ts';

/** Where an ordinary user can enter and such programs count: /tmp may be mounted without. */
function makeSetuidProgram(): string {
  const place = mkdtempSync('/var/tmp/palyra-attack-');
  onTestFinished(() => rmSync(place, { recursive: true, force: true }));
  chmodSync(place, 0o755);
  const program = join(place, 'id-of-root');
  copyFileSync('/usr/bin/id', program);
  chmodSync(program, 0o4755);
  return program;
}

describe.runIf(IS_ROOT)('a setuid program of root [needs: root]', () => {
  test('makes root of an ordinary user, and of a tool nothing', async () => {
    const program = makeSetuidProgram();
    const plan = barePlan([program, '-u']);
    const uid = String(plan.identity?.uid);
    const ordinary = execFileSync('setpriv', [`--reuid=${uid}`, `--regid=${uid}`, '--clear-groups', program, '-u']);
    expect(ordinary.toString()).toBe('0\n');

    await using launcher = await openLauncher();
    const job = launch(launcher, plan);
    await job.ended;
    expect(job.output().toString()).toBe(`${uid}\n`);
  });
});
