import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSandbox } from '@palyra/sandbox';
import { expect, test } from 'vitest';
import type { LaunchPlan } from '../../packages/sandbox/src/launch-plan.ts';
import { sandboxProfile } from '../sandbox-profile.ts';
import { launch, openLauncher } from './launched-job.ts';

/**
 * Everything that is not a file of the host: names, kinds, modes, owners, where links lead, what is in it, the mounts, and
 * that a terminal can be had. Directories on the way to others have no mode here: bubblewrap closes them to everybody else,
 * and there is nobody else.
 */
const LOOK = `
look() { find "$1" -xdev -type d -printf '%p d\\n' -o -printf '%p %y %m %U %G %l\\n' | sort; }
look /; look /dev; stat -c '%n %a %u' / /tmp /dev /dev/shm "$HOME"
find /etc -xdev -type f -exec md5sum {} + | sort -k2
sed 's/ - / /' /proc/self/mountinfo | cut -d' ' -f4-7 | sed 's,^/newroot / ,/ / ,; s,^/[0-9]* /dev/console,/N /dev/console,' | sort
ls -An --time-style=+ keys fixed; cat keys/secret fixed/text; echo x > fixed/text; echo y > file && cat file
stat -f -c '%S %b' /tmp /dev/shm "$HOME"; tty; id
python3 -c 'import os, pty; print([os.ttyname(each) for each in pty.openpty()])'`;

const PLACES = { path: '/usr/bin:/bin', home: '/nonexistent', palyraHome: '/nonexistent/.palyra', environment: {} };

async function plannedIn(root: string, terminal?: { readonly rows: number; readonly columns: number }) {
  const sandbox = await createSandbox({ operator: PLACES, logger: { error: () => {} } });
  const profile = sandboxProfile(root, { maskedPaths: [join(root, 'keys')], readOnlyPaths: [join(root, 'fixed')] });
  const command = { argv: ['sh', '-c', LOOK], ...(terminal === undefined ? {} : { terminal }) };
  const planned = await sandbox.plan(command, profile);
  await sandbox.close();
  if (planned.kind === 'refused') throw new Error(planned.message);
  const watch = { ...planned.plan.watch, treeCpuMs: undefined, cpuCounter: undefined };
  return { ...planned.plan, cgroups: [], watch };
}

/** One word that the launcher does not know, and means nothing here: then it leaves everything to bubblewrap. */
function leftToBubblewrap(plan: LaunchPlan): LaunchPlan {
  const [program = '', ...words] = plan.wrapper ?? [];
  return { ...plan, wrapper: [program, '--unshare-cgroup-try', ...words] };
}

function makeWorkspace() {
  const root = mkdtempSync(join(tmpdir(), 'palyra-root-'));
  chmodSync(root, 0o755);
  for (const name of ['keys', 'fixed']) mkdirSync(join(root, name));
  writeFileSync(join(root, 'keys/secret'), 'secret');
  writeFileSync(join(root, 'fixed/text'), 'fixed\n');
  return { root, [Symbol.dispose]: () => rmSync(root, { recursive: true }) };
}

test.each([undefined, { rows: 24, columns: 80 }])(
  'the root that the launcher puts together is the one that bubblewrap would have (terminal: %j)',
  async (terminal) => {
    using workspace = makeWorkspace();
    await using launcher = await openLauncher();
    const plan = await plannedIn(workspace.root, terminal);
    const seen = await Promise.all(
      [plan, leftToBubblewrap(plan)].map(async (each) => {
        const job = launch(launcher, each);
        const { inside } = await job.facts;
        expect(await job.ended).toMatchObject({ kind: 'ended', report: { started: true } });
        const [, root = ''] = / - tmpfs (\S+) /.exec(inside.mountinfo.split('\n')[0] ?? '') ?? [];
        return { root, found: job.output().toString('utf8'), errors: job.output('stderr').toString('utf8') };
      }),
    );
    // Each its own way, or nothing is compared here.
    expect(seen.map(({ root }) => root)).toEqual(['palyra', 'tmpfs']);
    expect(seen[0]?.found).toContain('fixed');
    expect(seen[0]?.found).not.toContain('secret\n');
    expect(seen[0]?.found).toBe(seen[1]?.found);
    expect(seen[0]?.errors).toBe(seen[1]?.errors);
  },
);

async function saidOf(plan: LaunchPlan): Promise<string> {
  await using launcher = await openLauncher();
  const job = launch(launcher, plan);
  expect(await job.ended).toMatchObject({ kind: 'ended', report: { started: false } });
  return job.output('stderr').toString('utf8');
}

test('a source that is gone by then is named by bubblewrap, and nothing runs', async () => {
  using workspace = makeWorkspace();
  const plan = await plannedIn(workspace.root);
  rmSync(join(workspace.root, 'fixed'), { recursive: true });
  const [put, left] = [await saidOf(plan), await saidOf(leftToBubblewrap(plan))];
  expect(put).toBe(`bwrap: Can't find source path ${workspace.root}/fixed: No such file or directory\n`);
  expect(put).toBe(left);
});

// Bubblewrap, its init and the tool: who puts the root together beside them would be a fourth, at times.
test.skipIf(process.getuid?.() !== 0)(
  'a sandbox that may hold as many processes as it takes to begin begins every time [needs: root]',
  async () => {
    using workspace = makeWorkspace();
    // What runs is noted there, and the workspace is the sandbox's own.
    const palyraHome = mkdtempSync(join(tmpdir(), 'palyra-root-home-'));
    const operator = { ...PLACES, palyraHome };
    const sandbox = await createSandbox({ operator, logger: { error: () => {} }, pool: 'off' });
    try {
      const profile = sandboxProfile(workspace.root, {});
      const limits = { ...profile.limits, processes: 3 };
      for (let at = 0; at < 20; at += 1) {
        const ran = await sandbox.run({ argv: ['/bin/true'] }, { ...profile, limits });
        expect(ran).toMatchObject({
          kind: 'completed',
          exitCode: 0,
          facts: { cgroup: { limits: { 'pids.max': '3' } } },
        });
      }
    } finally {
      await sandbox.close();
      rmSync(palyraHome, { recursive: true });
    }
  },
);
