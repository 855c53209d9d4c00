import { existsSync, mkdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { sha256Hex } from '@palyra/primitives';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ToolPlan, ToolRefusal, ToolResult } from '../../packages/gateway/src/catalog/tool.ts';
import { createRedactor } from '../../packages/gateway/src/redact/create-redactor.ts';
import type { PermittedCall } from '../../packages/gateway/src/tool-call/permitted-call.ts';
import { executePlan, type GatewayToolsPlace, makeGatewayToolsPlace } from './gateway-tools-place.ts';

const RUN = 'palyra.process.run';
let place: GatewayToolsPlace;

beforeAll(async () => {
  place = await makeGatewayToolsPlace();
  await place.settle();
});
afterAll(async () => {
  await place.close();
});

const sh = (text: string) => ({ argv: ['sh', '-c', text] });
const stdoutOf = (result: ToolResult) => ('stdout' in result ? Buffer.from(result.stdout ?? []).toString() : undefined);

function planned(plan: ToolPlan | ToolRefusal): ToolPlan {
  if (plan.kind === 'refused') throw new Error(`It was refused: ${plan.code} ${plan.message}`);
  return plan;
}

describe('palyra.process.run', () => {
  test('says before it runs what it would be, from the box and not from the words', async () => {
    const plan = planned(await place.plan(RUN, { argv: ['ls', 'https://a.example/x', '/etc/passwd'], cwd: '.' }));
    expect(plan).toMatchObject({
      capabilities: ['process_exec'],
      arguments: {
        argv: ['ls', 'https://a.example/x', '/etc/passwd'],
        cwd: place.workspace,
        sandbox: 'strict',
        network: [],
      },
      enforced: {
        tier: 'C',
        egress: 'strict',
        hosts: [],
        outsidePaths: [],
        protectedPaths: [],
        writeRoots: [place.workspace],
      },
      declared: { hosts: ['a.example:443'], paths: ['/etc/passwd'] },
      shown: { kind: 'command', argv: ['ls', 'https://a.example/x', '/etc/passwd'] },
      cwd: place.workspace,
      executor: 'sandbox_tier_c_linux_bubblewrap',
      limits: { wall_ms: 20_000, output_bytes: 16 * 1024 * 1024 },
    });
    expect(plan.enforced.readRoots).toEqual(expect.arrayContaining([place.workspace, '/usr']));
    const binding = await plan.bind();
    expect(binding).toMatchObject({ kind: 'bound', notBound: expect.arrayContaining([expect.any(String)]) });
    expect('bound' in binding && binding.bound).toEqual([
      { name: expect.stringMatching(/\/ls$|\/coreutils$/), sha256: expect.stringMatching(/^[0-9a-f]{64}$/) },
    ]);
  });

  test('equal boxes have equal digests, and anything else another one', async () => {
    const digest = async (more: object) => planned(await place.plan(RUN, { argv: ['true'], ...more })).profile;
    mkdirSync(join(place.workspace, 'sub'), { recursive: true });
    const all = await Promise.all(
      [{}, { cwd: 'sub' }, { environment: { A: '1' } }, { environment: { A: '2' } }, { timeout_ms: 5 }].map(digest),
    );
    expect(new Set(all).size).toBe(all.length);
    expect(await digest({})).toBe(all[0]);
  });

  test('runs in Tier C, and attests what was measured', async () => {
    const result = await place.call(RUN, sh('echo out; echo err >&2; id -u; exit 3'));
    expect(result).toMatchObject({
      kind: 'completed',
      exitCode: 3,
      output: { protected_changed: [] },
      ran: {
        executor: 'sandbox_tier_c_linux_bubblewrap',
        enforcement: 'strict',
        sandbox: {
          file_system: 'isolated',
          network: 'isolated',
          measured: true,
          tool_no_new_privileges: true,
          tool_seccomp: 2,
        },
        egress: [],
      },
    });
    expect(stdoutOf(result)).toMatch(/^out\n[1-9]/);
    expect(result).toHaveProperty('ran.resources.wall_ms');
  });

  test('is served by a sandbox that waits already, unless somebody looked at its bytes', async () => {
    await using warm = await makeGatewayToolsPlace({});
    for (let run = 0; run < 2; run += 1) await warm.call(RUN, { argv: ['true'] });
    expect(await warm.sandbox.warmed()).toBeGreaterThan(0);
    expect(await warm.call(RUN, { argv: ['true'] })).toMatchObject({ ran: { sandbox: { pooled: true } } });
    const bound = await warm.call(RUN, { argv: ['true'] }, { needsBoundBytes: true });
    expect(bound).toMatchObject({
      kind: 'completed',
      ran: { sandbox: { pooled: false, bound_sha256: expect.any(String) } },
    });
  });

  test('reads its input, and sees the variables that it was given and no others', async () => {
    const result = await place.call(RUN, {
      argv: ['sh', '-c', 'cat; echo $A$SECRET'],
      stdin: 'hello ',
      environment: { A: 'a' },
    });
    expect(stdoutOf(result)).toBe('hello a\n');
  });

  test('tells what it prints while it runs, without the secrets in it', async () => {
    const heard: string[] = [];
    const redactor = createRedactor();
    const tool = place.processRun({}, { redact: { ...redactor, redactStream: redactor.redactStream } });
    const token = `ghp_${'A1b2C3d4E5'.repeat(4).slice(0, 36)}`;
    const plan = await tool.plan(sh(`echo first; echo ${token}`), {
      runId: 'R0',
      callId: 'C0',
      workspace: place.workspace,
      timeoutMs: 20_000,
    });
    const onOutput = (_: string, bytes: Uint8Array) => void heard.push(Buffer.from(bytes).toString());
    const result = await executePlan(tool, plan, { onOutput });
    expect(heard.join('')).toBe(stdoutOf(result));
    expect(heard.join('')).toMatch(/^first\n\[detected:/);
  });

  test('ends at its time, and at the time of the call', async () => {
    const result = await place.call(RUN, { argv: ['sleep', '60'], timeout_ms: 1500 });
    expect(result).toMatchObject({ kind: 'timed_out', code: 'tool.timed_out' });
    const late = AbortSignal.timeout(1500);
    expect(await place.call(RUN, { argv: ['sleep', '60'] }, { signal: late })).toMatchObject({ kind: 'timed_out' });
  });

  test('ends when it is cancelled', async () => {
    const stop = new AbortController();
    const running = place.call(RUN, sh('echo started; sleep 60'), {
      signal: stop.signal,
      onOutput: () => stop.abort(),
    });
    const result = await running;
    expect(result).toMatchObject({ kind: 'cancelled', code: 'tool.cancelled' });
    expect(stdoutOf(result)).toBe('started\n');
  });

  test('that prints too much, and one that dies, are told apart', async () => {
    const tool = place.processRun({ limits: { outputBytes: 4096 } });
    const at = { runId: 'R0', callId: 'C0', workspace: place.workspace, timeoutMs: 20_000 };
    const flood = await executePlan(tool, await tool.plan(sh('yes'), at));
    expect(flood).toMatchObject({ kind: 'quota_exceeded', code: 'tool.output_exceeded' });
    expect(await place.call(RUN, sh('kill -SEGV $$'))).toMatchObject({
      kind: 'failed',
      code: 'tool.signalled',
      signal: 'SIGSEGV',
    });
  });

  test('is refused before anybody is asked where the sandbox would refuse it', async () => {
    expect(await place.plan(RUN, { argv: ['no-such-program'] })).toMatchObject({
      kind: 'refused',
      code: 'sandbox.executable_not_found',
      fix: expect.any(String),
    });
    expect(await place.plan(RUN, { argv: ['true'], network: ['example.com'] })).toMatchObject({
      kind: 'refused',
      code: 'sandbox.unsupported',
    });
    expect(await place.plan(RUN, { argv: [] })).toMatchObject({
      code: 'gateway.invalid_input',
      message: 'The field argv is empty.',
    });
  });

  test('that could not be started is refused: nothing of it ran', async () => {
    expect(await place.call(RUN, { argv: ['true'], cwd: '/nowhere' })).toMatchObject({
      kind: 'refused',
      code: 'sandbox.invalid_command',
    });
  });

  test('in Tier B says that it is no box', async () => {
    const plan = await place.plan(RUN, { argv: ['true'], sandbox: 'limits' });
    const open = { capabilities: ['process_exec', 'network'], enforced: { tier: 'B', egress: 'none' } };
    // To root, without another user to run it as, the sandbox refuses Tier B.
    const refused = { code: expect.stringMatching(/^sandbox\./) };
    expect(plan).toMatchObject(plan.kind === 'refused' ? refused : open);
  });

  test('names what the operator opened besides the workspace, and what was lifted', async () => {
    const other = join(place.base, 'other');
    mkdirSync(other, { recursive: true });
    const lifted = join(place.workspace, '.envrc');
    const tool = place.processRun({ readOnlyPaths: [other], protection: { lifted: [lifted] } });
    const at = { runId: 'R0', callId: 'C0', workspace: place.workspace, timeoutMs: 20_000 };
    expect(await tool.plan({ argv: ['true'] }, at)).toMatchObject({
      enforced: { outsidePaths: [other], protectedPaths: [lifted] },
    });
  });

  test('reports protected files that it changed, which are put back', async () => {
    const result = await place.call(RUN, sh('mkdir -p deep && echo evil > deep/.bashrc'));
    expect(result).toMatchObject({
      output: {
        protected_changed: [
          { path: join(place.workspace, 'deep/.bashrc'), what: 'created', restored: true, kept: true },
        ],
      },
    });
    expect(existsSync(join(place.workspace, 'deep/.bashrc'))).toBe(false);
  });
});

describe('the file tools', () => {
  test('read, list and search, and reach for nothing that is asked about', async () => {
    place.put('read/a.txt', 'one\ntwo\n');
    const plan = planned(await place.plan('palyra.fs.read', { path: 'read/../read/a.txt' }));
    expect(plan).toMatchObject({
      arguments: { path: 'read/a.txt' },
      capabilities: [],
      enforced: {
        tier: 'built_in',
        egress: 'strict',
        readRoots: [place.workspace],
        writeRoots: [],
        protectedPaths: [],
        secretFiles: [],
      },
      declared: { paths: [join(place.workspace, 'read/a.txt')] },
      executor: 'sandbox_tier_c_linux_bubblewrap',
    });
    expect(await place.execute('palyra.fs.read', plan)).toMatchObject({
      kind: 'completed',
      output: { content: 'one\ntwo\n', sha256: sha256Hex('one\ntwo\n') },
      ran: {
        executor: 'sandbox_tier_c_linux_bubblewrap',
        enforcement: 'strict',
        sandbox: { network: 'isolated', measured: true },
      },
    });
    expect(await place.call('palyra.fs.list', { path: 'read' })).toMatchObject({
      output: { entries: [{ path: 'read/a.txt' }] },
    });
    expect(await place.call('palyra.fs.search', { pattern: 'two', path: 'read' })).toMatchObject({
      output: { matches: [{ path: 'read/a.txt', line: 2 }] },
    });
  });

  test('a worker that waits is made ready for what reads, serves it, and is there for others when it is given up', async () => {
    place.put('ready/a.txt', 'one\n');
    const [read, write] = [place.catalog.get('palyra.fs.read'), place.catalog.get('palyra.fs.write')];
    const plan = planned(await place.plan('palyra.fs.read', { path: 'ready/a.txt' }));
    const call = { plan } as PermittedCall;
    // More often than there are workers.
    for (let times = 0; times < 6; times += 1) {
      const unused = read?.makeReady?.(call);
      unused?.[Symbol.dispose]();
      using ready = read?.makeReady?.(call);
      expect(ready).toBeDefined();
      expect(await place.execute('palyra.fs.read', plan, ready && { ready })).toMatchObject({
        kind: 'completed',
        output: { content: 'one\n' },
      });
    }
    const writing = planned(await place.plan('palyra.fs.write', { path: 'ready/b.txt', content: 'two' }));
    expect(write?.makeReady?.({ plan: writing } as PermittedCall)).toBeUndefined();
  });

  test('fail as results, with where and why', async () => {
    expect(await place.call('palyra.fs.read', { path: 'nowhere' })).toMatchObject({
      kind: 'failed',
      code: 'file.not_found',
      output: { effect: 'none', path: 'nowhere' },
      ran: { enforcement: 'strict' },
    });
  });

  test('are refused before anybody is asked: outside, malformed, and what would fail anyway', async () => {
    place.put('plan/a.txt', 'a\n');
    expect(await place.plan('palyra.fs.read', { path: '../home' })).toMatchObject({
      kind: 'refused',
      code: 'file.outside_workspace',
    });
    expect(await place.plan('palyra.fs.write', { path: 'plan/a.txt', content: 'b', expect: 'absent' })).toMatchObject({
      code: 'file.exists',
    });
    const patch = '--- a/plan/a.txt\n+++ b/plan/a.txt\n@@ -1 +1 @@\n-x\n+b\n';
    expect(await place.plan('palyra.fs.apply_patch', { patch })).toMatchObject({ code: 'file.patch_mismatch' });
    expect(await place.plan('palyra.fs.apply_patch', { patch: 'nothing' })).toMatchObject({
      code: 'file.patch_malformed',
    });
    expect(place.text('plan/a.txt')).toBe('a\n');
  });

  test('show a write as a diff, and do it', async () => {
    place.put('write/a.txt', 'a\nb\n');
    const plan = planned(await place.plan('palyra.fs.write', { path: 'write/a.txt', content: 'a\nc\n' }));
    expect(plan).toMatchObject({
      capabilities: ['filesystem_write'],
      enforced: { writeRoots: [place.workspace] },
      shown: {
        kind: 'diff',
        paths: ['write/a.txt'],
        diff: 'diff --git a/write/a.txt b/write/a.txt\n--- a/write/a.txt\n+++ b/write/a.txt\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n',
      },
    });
    expect(await plan.bind()).toMatchObject({ bound: [{ name: 'write/a.txt', sha256: sha256Hex('a\nc\n') }] });
    expect(place.text('write/a.txt')).toBe('a\nb\n');
    expect(await place.execute('palyra.fs.write', plan)).toMatchObject({
      kind: 'completed',
      output: { after: sha256Hex('a\nc\n') },
    });
    expect(place.text('write/a.txt')).toBe('a\nc\n');
  });

  test('show a patch as it is, bound to what it makes', async () => {
    place.put('patch/a.txt', 'a\n');
    const patch =
      '--- a/patch/a.txt\n+++ b/patch/a.txt\n@@ -1 +1 @@\n-a\n+b\n--- /dev/null\n+++ b/patch/new.txt\n@@ -0,0 +1 @@\n+n\n';
    const plan = planned(await place.plan('palyra.fs.apply_patch', { patch }));
    expect(plan.shown).toEqual({ kind: 'diff', paths: ['patch/a.txt', 'patch/new.txt'], diff: patch });
    expect(await plan.bind()).toMatchObject({
      bound: [
        { name: 'patch/a.txt', sha256: sha256Hex('b\n') },
        { name: 'patch/new.txt', sha256: sha256Hex('n\n') },
      ],
    });
    expect(await place.execute('palyra.fs.apply_patch', plan, { needsBoundBytes: true })).toMatchObject({
      kind: 'completed',
    });
    expect([place.text('patch/a.txt'), place.text('patch/new.txt')]).toEqual(['b\n', 'n\n']);
  });

  test('name protected and secret-shaped files, and touch them only as their plan says', async () => {
    place.put('asked/.env', 'TOKEN=1\n');
    place.put('asked/CLAUDE.md', 'old\n');
    const write = planned(await place.plan('palyra.fs.write', { path: 'asked/CLAUDE.md', content: 'new\n' }));
    expect(write.enforced).toMatchObject({
      protectedPaths: [join(place.workspace, 'asked/CLAUDE.md')],
      secretFiles: [],
    });
    expect(await place.execute('palyra.fs.write', write, { needsBoundBytes: true })).toMatchObject({
      kind: 'completed',
    });
    expect(place.text('asked/CLAUDE.md')).toBe('new\n');

    const read = planned(await place.plan('palyra.fs.read', { path: 'asked/.env' }));
    expect(read.enforced).toMatchObject({ secretFiles: [join(place.workspace, 'asked/.env')], writeRoots: [] });
    expect(await place.execute('palyra.fs.read', read, { needsBoundBytes: true })).toMatchObject({
      output: { content: 'TOKEN=1\n' },
    });

    const change = planned(await place.plan('palyra.fs.write', { path: 'asked/.env', content: 'TOKEN=2\n' }));
    expect(change.enforced.writeRoots).toEqual([place.workspace, join(place.workspace, 'asked/.env')]);
    expect(JSON.stringify([change.shown, await change.bind()])).not.toContain('TOKEN=1');
  });

  test('leave what was approved where it is, also what the sandbox holds for everybody else', async () => {
    place.put('CLAUDE.md', 'old\n');
    place.put('.git/HEAD', 'ref: refs/heads/main\n');
    place.put('.git/config', '[core]\n');
    place.put('.git/hooks/pre-commit', 'old\n', 0o755);
    for (const name of ['objects', 'refs']) mkdirSync(join(place.workspace, '.git', name), { recursive: true });
    const runId = 'R9';
    const paths = ['CLAUDE.md', '.git/hooks/pre-commit', '.claude/settings.json', 'sub/.envrc'];
    for (const path of paths) {
      const result = await place.call('palyra.fs.write', { path, content: 'new\n' }, { runId, needsBoundBytes: true });
      expect([path, result.kind]).toEqual([path, 'completed']);
    }
    // A command looks at all of them before and after.
    expect(await place.call(RUN, { argv: ['true'] })).toMatchObject({ output: { protected_changed: [] } });
    expect(paths.map((path) => place.text(path))).toEqual(paths.map(() => 'new\n'));

    expect(await place.kept.undo({ runId, fileTools: place.fileTools })).toMatchObject({
      kind: 'undone',
      calls: { length: 4 },
    });
    expect([place.text('CLAUDE.md'), place.text('.git/hooks/pre-commit')]).toEqual(['old\n', 'old\n']);
    expect(existsSync(join(place.workspace, '.claude'))).toBe(false);
    rmSync(join(place.workspace, '.git'), { recursive: true });
    rmSync(join(place.workspace, 'CLAUDE.md'));
    // Of the box as it was: the next test finds its worker.
    await place.settle();
  });

  test('do not take back what the operator writes while they are in use', async () => {
    await using own = await makeGatewayToolsPlace();
    await own.call('palyra.fs.write', { path: 'x.txt', content: '2\n' });
    own.put('CLAUDE.md', 'mine\n');
    await own.call('palyra.fs.write', { path: 'x.txt', content: '3\n' });
    await own.call('palyra.fs.read', { path: 'x.txt' });
    await own.fileTools.close();
    expect(own.text('CLAUDE.md')).toBe('mine\n');
  });

  test('end when they are cancelled', async () => {
    const stop = new AbortController();
    stop.abort();
    expect(await place.call('palyra.fs.list', {}, { signal: stop.signal })).toMatchObject({
      kind: 'refused',
      code: 'file.cancelled',
    });
  });

  test('change nothing that could not be written down', async () => {
    place.put('kept/a.txt', 'a\n');
    // Not the id of a run, so there is no place for its list.
    const result = place.call('palyra.fs.write', { path: 'kept/a.txt', content: 'b\n' }, { runId: '..' });
    expect(await result).toMatchObject({ kind: 'failed', code: 'file.not_kept', output: { effect: 'none' } });
    expect(place.text('kept/a.txt')).toBe('a\n');
  });

  test('are undone, newest first: contents, modes, new and deleted files, directories', async () => {
    place.put('undo/a.txt', 'original\n', 0o755);
    place.put('undo/gone.txt', 'gone\n');
    const runId = 'R7';
    const write = (path: string, content: string) => place.call('palyra.fs.write', { path, content }, { runId });
    await write('undo/a.txt', 'once\n');
    await write('undo/a.txt', 'twice\n');
    await write('undo/new/deep/b.txt', 'b\n');
    await place.call(
      'palyra.fs.apply_patch',
      { patch: '--- a/undo/gone.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n' },
      { runId },
    );
    expect([place.text('undo/a.txt'), existsSync(join(place.workspace, 'undo/gone.txt'))]).toEqual(['twice\n', false]);

    const undone = await place.kept.undo({ runId, fileTools: place.fileTools });
    expect(undone.kind === 'undone' && undone.calls.map(({ restored }) => restored)).toEqual([
      ['undo/gone.txt'],
      ['undo/new/deep/b.txt'],
      ['undo/a.txt'],
      ['undo/a.txt'],
    ]);
    expect([place.text('undo/a.txt'), place.text('undo/gone.txt')]).toEqual(['original\n', 'gone\n']);
    expect(statSync(join(place.workspace, 'undo/a.txt')).mode & 0o777).toBe(0o755);
    expect(existsSync(join(place.workspace, 'undo/new'))).toBe(false);
    expect(await place.kept.changesOf(runId)).toEqual([]);
  });

  test('are not undone over what somebody else wrote since', async () => {
    place.put('undo/c.txt', '1\n');
    const runId = 'R8';
    await place.call('palyra.fs.write', { path: 'undo/c.txt', content: '2\n' }, { runId });
    await place.call('palyra.fs.write', { path: 'undo/d.txt', content: 'd\n' }, { runId });
    place.put('undo/c.txt', 'mine\n');
    const { fileTools } = place;
    expect(await place.kept.undo({ runId, fileTools })).toMatchObject({
      kind: 'stopped',
      code: 'file.conflict',
      calls: [{ restored: ['undo/d.txt'] }],
    });
    expect(readFileSync(join(place.workspace, 'undo/c.txt'), 'utf8')).toBe('mine\n');
    expect(await place.kept.undo({ runId, fileTools, conflicts: 'skip' })).toMatchObject({
      kind: 'undone',
      calls: [{ conflicts: ['undo/c.txt'] }],
    });
    expect(place.text('undo/c.txt')).toBe('mine\n');
  });
});
