/**
 * T-42: the tool of a daemon that is root keeps a group of root's, and reads what is that group's. A comparison of facts would
 * refuse it: here there is none, and that the launcher drops them is all that there is.
 */
import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { barePlan, launch, launcherProgram, openLauncher } from '../integration/launched-job.ts';
import { IS_ROOT, uniqueMark } from './sandboxed.ts';

const SECRET = uniqueMark();
const GROUP = 998;

describe.runIf(IS_ROOT)('a group of a launcher that is root [needs: root]', () => {
  test('opens its files to an ordinary user who has it, and to no tool', async () => {
    const place = mkdtempSync('/tmp/palyra-attack-');
    onTestFinished(() => rmSync(place, { recursive: true, force: true }));
    chmodSync(place, 0o755);
    const file = join(place, 'of-the-group');
    writeFileSync(file, SECRET, { mode: 0o640 });
    chownSync(file, 0, GROUP);
    const grouped = join(place, 'grouped-launcher');
    writeFileSync(grouped, `#!/bin/sh\nexec setpriv --groups ${GROUP} -- ${launcherProgram()} "$@"\n`, { mode: 0o755 });

    const plan = barePlan(['/bin/sh', '-c', 'cat "$1" 2>/dev/null || echo closed', 'sh', file]);
    const uid = String(plan.identity?.uid);
    const member = ['setpriv', `--reuid=${uid}`, `--regid=${uid}`, '--groups', String(GROUP)];
    const [program = '', ...args] = [...member, ...plan.tool.argv];
    expect(execFileSync(program, args).toString()).toBe(SECRET);

    await using launcher = await openLauncher(grouped);
    const job = launch(launcher, plan);
    await job.ended;
    expect(job.output().toString()).toBe('closed\n');
  });
});
