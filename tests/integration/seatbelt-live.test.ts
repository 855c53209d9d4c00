import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { planSeatbelt, type SeatbeltSurvey } from '../../packages/sandbox/src/backends/seatbelt/plan.ts';
import { type ProbeEnd, type ProbeStart, probeSeatbelt } from '../../packages/sandbox/src/backends/seatbelt/probe.ts';
import { probeProfile } from '../../packages/sandbox/src/probe/inspect.ts';
import { makeProbePlace, type ProbePlace } from '../../packages/sandbox/src/probe/probe-place.ts';
import type { SandboxProfile } from '../../packages/sandbox/src/profile.ts';

// These run on a Mac and nowhere else. Each attempt is one that succeeds without the sandbox.
const isMac = process.platform === 'darwin';

let place: ProbePlace;
let own: string;
let listener: Server;

beforeAll(async () => {
  if (!isMac) return;
  place = makeProbePlace(tmpdir());
  own = mkdtempSync(join(realpathSync(tmpdir()), 'palyra-own-'));
  for (const name of ['home', 'tmp']) mkdirSync(join(own, name));
  listener = createServer((socket) => socket.end());
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
});

afterAll(async () => {
  if (!isMac) return;
  place.remove();
  rmSync(own, { recursive: true, force: true });
  await new Promise((resolve) => listener.close(resolve));
});

function survey(changes: Partial<SeatbeltSurvey> = {}): SeatbeltSurvey {
  return {
    workspace: { root: place.workspace, gitDirectories: [] },
    operatorHome: realpathSync(homedir()),
    home: join(own, 'home'),
    temporary: join(own, 'tmp'),
    developerDirectory: undefined,
    toolchains: { path: '/usr/bin:/bin:/usr/sbin:/sbin', readOnly: [], environment: {} },
    resolved: new Map(),
    masked: [],
    protectedPaths: [],
    program: '/bin/sh',
    terminalDevice: undefined,
    tasksOnHost: 1,
    ...changes,
  };
}

function run([program = '', ...rest]: readonly string[], { cwd, environment }: ProbeStart): Promise<ProbeEnd> {
  const env = Object.fromEntries(
    environment.map((each) => [each.slice(0, each.indexOf('=')), each.slice(each.indexOf('=') + 1)]),
  );
  return new Promise((resolve) => {
    execFile(program, rest, { cwd, env, timeout: 60_000 }, (fault, stdout) => {
      const code = fault === null ? 0 : fault.code;
      resolve({ exitCode: typeof code === 'number' ? code : undefined, stdout });
    });
  });
}

async function sh(
  script: string,
  changes: { readonly profile?: Partial<SandboxProfile>; readonly survey?: Partial<SeatbeltSurvey> } = {},
): Promise<ProbeEnd> {
  const profile = { ...probeProfile('C', place), ...changes.profile };
  const planned = planSeatbelt({ argv: ['/bin/sh', '-c', script] }, profile, survey(changes.survey));
  if (planned.kind === 'refused') throw new Error(planned.message);
  return run(planned.plan.argv, planned.plan);
}

test.skipIf(!isMac)(
  'a shell starts, and works in its workspace, home and temporary directory [platform: darwin]',
  async () => {
    const script =
      'echo a > "$PWD/a" && echo b > "$HOME/b" && echo c > "$TMPDIR/c" && cat "$PWD/a" "$HOME/b" "$TMPDIR/c"';
    expect(await sh(script)).toEqual({ exitCode: 0, stdout: 'a\nb\nc\n' });
  },
);

test.skipIf(!isMac)('the probe finds every wall that can be tried here [platform: darwin]', async () => {
  const address = listener.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const report = await probeSeatbelt({ survey: survey(), place, port, peer: process.pid, run });
  const open = report.layers.filter(({ state }) => state === 'missing').map(({ layer }) => layer);
  expect(open).toEqual(['launcher', 'memory', 'processes', 'tree_kill']);
  const proven = report.layers.filter(({ state }) => state === 'enforced').map(({ layer }) => layer);
  expect(proven).toEqual(
    expect.arrayContaining([
      'sandbox_exec',
      'workspace',
      'private_files',
      'home',
      'system_files',
      'network',
      'signals',
    ]),
  );
});

test.skipIf(!isMac)(
  'a masked file stays hidden, also after what it lies in was to be renamed [platform: darwin]',
  async () => {
    mkdirSync(join(place.workspace, 'a/b'), { recursive: true });
    const secret = join(place.workspace, 'a/b/secret');
    writeFileSync(secret, 'hidden\n');
    const changes = { profile: { maskedPaths: [secret] } };
    expect((await sh('cat a/b/secret', changes)).stdout).toBe('');
    expect(
      (await sh('mv a c; cat c/b/secret; mv a/b d; cat d/secret; cp -c -R a e; cat e/b/secret', changes)).stdout,
    ).toBe('');
    expect(readFileSync(secret, 'utf8')).toBe('hidden\n');
  },
);

test.skipIf(!isMac)('a protected file is read and not written [platform: darwin]', async () => {
  mkdirSync(join(place.workspace, '.git/hooks'), { recursive: true });
  const hook = join(place.workspace, '.git/hooks/pre-commit');
  writeFileSync(hook, 'as it was\n');
  const { stdout } = await sh(
    'cat .git/hooks/pre-commit; echo x > .git/hooks/pre-commit; mv .git g; echo x > g/hooks/pre-commit',
    {
      survey: { protectedPaths: [join(place.workspace, '.git/hooks')] },
    },
  );
  expect([stdout, readFileSync(hook, 'utf8')]).toEqual(['as it was\n', 'as it was\n']);
});

test.skipIf(!isMac)('a link out of the workspace leads nowhere [platform: darwin]', async () => {
  symlinkSync(place.outside, join(place.workspace, 'link'));
  expect((await sh('cat link; ln "$PWD/../outside" hard && cat hard')).stdout).toBe('');
});

test.skipIf(!isMac)('a workspace called like a rule is only a workspace [platform: darwin]', async () => {
  const root = join(own, '")(allow default)("');
  mkdirSync(root);
  const { exitCode, stdout } = await sh(`echo x > "$PWD/x" && cat x; cat '${place.outside}'`, {
    survey: { workspace: { root, gitDirectories: [] } },
  });
  expect([exitCode === 0, stdout]).toEqual([false, 'x\n']);
});
