import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { DEFAULT_LIMITS, type SandboxProfile } from '../../profile.ts';
import { type JobObjectSurvey, planJobObject } from './plan.ts';
import { JOB_OBJECT_LAYERS, probeJobObject } from './probe.ts';

const PROFILE: SandboxProfile = {
  tier: 'B',
  workspace: { root: 'C:\\work\\shop', access: 'read-write' },
  readOnlyPaths: [],
  writablePaths: [],
  maskedPaths: [],
  executables: 'any',
  interpreters: 'allowed',
  egress: { mode: 'none', hosts: [] },
  toolchains: 'operator',
  unixSockets: 'refused',
  limits: { ...DEFAULT_LIMITS, cpuMilli: 2000 },
  mustHold: ['memory', 'processes', 'cpu'],
  environment: ['CI'],
  startedFor: 'operator',
};

const SURVEY: JobObjectSurvey = {
  workspaceRoot: 'C:\\work\\shop',
  program: 'C:\\Program Files\\Git\\cmd\\git.exe',
  path: 'C:\\Windows\\System32;C:\\Program Files\\Git\\cmd',
  temporary: 'C:\\palyra\\1\\tmp',
  systemRoot: 'C:\\Windows',
  processors: 8,
};

const COMMAND = { argv: ['git', 'status'], environment: { CI: '1', AWS_PROFILE: 'x' } };

const planning = (profile: Partial<SandboxProfile> = {}, survey: Partial<JobObjectSurvey> = {}) =>
  planJobObject(COMMAND, { ...PROFILE, ...profile }, { ...SURVEY, ...survey });

describe('the plan of a job object', () => {
  it('is exactly this', () => {
    expect(planning()).toEqual({
      kind: 'planned',
      plan: {
        executor: 'sandbox_tier_c_windows_job_object',
        enforcement: 'limits_only',
        tool: {
          path: 'C:\\Program Files\\Git\\cmd\\git.exe',
          argv: ['git', 'status'],
          environment: [
            'CI=1',
            'HOME=C:\\work\\shop',
            'LANG=C.UTF-8',
            'PATH=C:\\Windows\\System32;C:\\Program Files\\Git\\cmd',
            'SystemRoot=C:\\Windows',
            'TEMP=C:\\palyra\\1\\tmp',
            'TMP=C:\\palyra\\1\\tmp',
            'USERPROFILE=C:\\work\\shop',
          ],
          cwd: 'C:\\work\\shop',
          terminal: undefined,
        },
        job: {
          limitFlags: 0x260c,
          activeProcessLimit: 512,
          jobMemoryLimit: 4_294_967_296,
          perJobUserTimeLimit: 6_000_000_000,
          cpuRateFlags: 0x5,
          cpuRate: 2500,
          uiRestrictions: 0xff,
        },
        watch: { wallMs: 600_000, idleMs: 600_000, outputBytes: 16_777_216 },
      },
    });
  });

  it('never lets a process out of the job, and keeps the share of the processors in its range', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 10_000_000 }), fc.integer({ min: 1, max: 512 }), (cpuMilli, processors) => {
        const planned = planning({ limits: { ...DEFAULT_LIMITS, cpuMilli } }, { processors });
        if (planned.kind === 'refused') throw new Error(planned.message);
        const { limitFlags, cpuRate } = planned.plan.job;
        expect(limitFlags & 0x1800).toBe(0);
        expect(cpuRate).toBeGreaterThanOrEqual(1);
        expect(cpuRate).toBeLessThanOrEqual(10_000);
        expect(Number.isInteger(cpuRate)).toBe(true);
      }),
    );
  });

  test.each<[string, Partial<SandboxProfile>, string]>([
    ['strict', { egress: { mode: 'strict', hosts: [] } }, 'A job object cannot restrict the network.'],
    ['preflight', { egress: { mode: 'preflight', hosts: [] } }, 'A job object cannot restrict the network.'],
    ['Tier C', { tier: 'C' }, 'There is no Tier C on Windows: a job object limits, and hides nothing.'],
    [
      'a read-only workspace',
      { workspace: { root: 'C:\\work\\shop', access: 'read-only' } },
      'A job object cannot make a workspace read-only.',
    ],
    ['masks', { maskedPaths: ['C:\\work\\shop\\.env'] }, 'A job object cannot hide files.'],
    ['agents', { startedFor: 'agent' }, 'Nothing would keep an agent’s command from palyrad’s own files.'],
  ])('refuses %s, and names WSL2', (_what, profile, message) => {
    expect(planning(profile)).toEqual({
      kind: 'refused',
      code: 'sandbox.unsupported',
      message,
      fix: expect.stringContaining('WSL2'),
    });
  });

  test.each(['C:\\x\\npm.cmd', 'C:\\x\\a.BAT', 'C:\\x\\a.bat. '])('refuses the batch file %s', (program) => {
    expect(planning({}, { program })).toMatchObject({ kind: 'refused', code: 'sandbox.executable_not_allowed' });
  });
});

test('the probe of Windows claims nothing', () => {
  const report = probeJobObject();
  expect(report).toMatchObject({ state: 'unavailable', fix: expect.stringContaining('WSL2') });
  expect(report.layers.map(({ layer }) => layer)).toEqual(JOB_OBJECT_LAYERS);
  expect(report.layers.filter(({ state }) => state !== 'missing')).toEqual([]);
});
