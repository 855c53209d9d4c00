/**
 * T-18: a tool writes to the kernel's magic keys (/proc/sysrq-trigger): it ends, or reads the memory of, everybody. Many kernels
 * are built without them, so the box is planned as on one that has them; T-18-privilege-inside writes there where it is one.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createPlanner } from '../../packages/sandbox/src/plan-command.ts';
import { hostDirectories } from '../../packages/sandbox/src/survey/directory-files.ts';
import { hostSurveyFiles } from '../../packages/sandbox/src/survey/survey-files.ts';
import { createSurveyor } from '../../packages/sandbox/src/survey/survey-host.ts';
import { sandboxProfile } from '../sandbox-profile.ts';

const KEYS = '/proc/sysrq-trigger';

/** The box for a command on a host whose kernel has the keys, or has not. */
function plannedWhere(kernel: 'has them' | 'has none') {
  const base = mkdtempSync(join(tmpdir(), 'palyra-keys-'));
  onTestFinished(() => rmSync(base, { recursive: true }));
  const [workspace, home] = ['work', 'home'].map((name) => join(base, name)) as [string, string];
  for (const path of [workspace, home]) mkdirSync(path);
  const keys = kernel === 'has them' ? ({ kind: 'file', uid: 0, gid: 0, mode: 0o200 } as const) : undefined;
  const surveyor = createSurveyor({
    launcher: { pid: 1, startTicks: 1, uid: 1000, gid: 1000, landlockVersion: 6, seccompFilters: 0 },
    operator: { path: '/usr/bin', home, palyraHome: join(home, '.palyra'), environment: {} },
    cgroups: { kind: 'none', reason: '', fix: '' },
    files: { ...hostSurveyFiles, stat: (path) => (path === KEYS ? keys : hostSurveyFiles.stat(path)) },
    directories: hostDirectories,
    now: Date.now,
    groups: [],
  });
  const planned = createPlanner({ surveyor, findBubblewrap: () => '/usr/bin/bwrap' }).plan(
    { argv: ['true'] },
    sandboxProfile(workspace),
  );
  if (planned.kind === 'refused') throw new Error(planned.message);
  const words = planned.plan.wrapper ?? [];
  const at = words.indexOf(KEYS);
  return {
    mask: words.slice(at - 2, at + 1),
    isBehindProc: at > words.indexOf('--proc'),
    measured: planned.plan.expected.mounts?.filter((mount) => mount.at === KEYS).length,
  };
}

test('where the kernel has the keys, nothing is behind their name, over /proc, and the mount is measured', () => {
  expect(plannedWhere('has them')).toEqual({ mask: ['--ro-bind', '/dev/null', KEYS], isBehindProc: true, measured: 1 });
});

test('where it has none, there is nothing to mask', () => {
  expect(plannedWhere('has none')).toEqual({ mask: [], isBehindProc: false, measured: 0 });
});
