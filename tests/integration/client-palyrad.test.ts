import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Client, type ConnectOptions, connect, type RunEvent } from '@palyra/client';
import { deviceDecider, openOperatorCredential } from '@palyra/identity';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { declareLongLived } from '../../packages/testkit/src/process-mark.ts';
import { type PalyradProcess, startPalyrad } from '../palyrad-process.ts';

let palyrad: PalyradProcess;
let operator: Client;
let project: string;
const open: Client[] = [];

/** What the policies ask a human about. */
const PROTECTED = { path: '.envrc', content: 'export A=1\n' };

async function connected(options: ConnectOptions = {}): Promise<Client> {
  const client = await connect({
    home: palyrad.home.root,
    reconnect: { firstPauseMs: 5, longestPauseMs: 50 },
    ...options,
  });
  open.push(client);
  return client;
}

beforeAll(async () => {
  palyrad = await startPalyrad();
  declareLongLived(palyrad.child.pid ?? 0);
  project = join(palyrad.root, 'project');
  mkdirSync(project);
  writeFileSync(join(project, 'README.md'), 'hello\n');
  operator = await connected({ as: 'operator' });
  await operator.workspaces.add(project);
});
afterAll(async () => {
  for (const client of open) client.close();
  await palyrad[Symbol.asyncDispose]();
});

describe('with a real palyrad', () => {
  test('an agent sees the catalogue and the state of things', async () => {
    const agent = await connected();
    const tools = await agent.tools.list();
    expect(tools.find(({ name }) => name === 'palyra.fs.read')).toMatchObject({
      input_schema: { type: 'object' },
      tier: expect.any(String),
      hidden: false,
    });
    expect(await agent.status()).toMatchObject({ separation: 'personal', storage: 'sqlite', preset: 'coding' });
    expect(await agent.workspaces.list()).toMatchObject([{ root: project }]);
  });

  test('a call is decided, executed, attested and told', async () => {
    const agent = await connected();
    await using run = await agent.startRun({ workspace: project });
    const events: RunEvent['kind'][] = [];
    const result = await run.call(
      'palyra.process.run',
      { argv: ['cat', 'README.md'] },
      { onEvent: ({ kind }) => void events.push(kind) },
    );
    expect(result).toMatchObject({
      run_id: run.id,
      tool: 'palyra.process.run',
      decision: { kind: 'allow', policy_ids: ['in-the-box'] },
      outcome: { kind: 'completed', exit_code: 0, stdout: 'hello\n', stderr: '' },
      attestation: { sandbox_enforcement: 'strict', coverage: 'direct', journal_seq: expect.any(Number) },
    });
    expect(events).toEqual(['proposal_accepted', 'decision', 'execution_started', 'output', 'result', 'attestation']);
  });

  test('the same key is the same call', async () => {
    await using run = await (await connected()).startRun();
    const first = await run.call('palyra.echo', { text: 'x' }, { key: 'k' });
    expect(await run.call('palyra.echo', { text: 'x' }, { key: 'k' })).toEqual(first);
    await expect(run.call('palyra.echo', { text: 'other' }, { key: 'k' })).rejects.toMatchObject({
      code: 'gateway.key_reused',
    });
  });

  test('input reaches a command, and its end', async () => {
    await using run = await (await connected()).startRun();
    async function* input() {
      yield { kind: 'bytes', bytes: Buffer.from('one\n') } as const;
      yield { kind: 'bytes', bytes: Buffer.from('two\n') } as const;
      yield { kind: 'end' } as const;
    }
    const { outcome } = await run.call(
      'palyra.process.run',
      { argv: ['sort', '-r'], stdin_open: true },
      { input: input() },
    );
    expect(outcome).toMatchObject({ kind: 'completed', exit_code: 0, stdout: 'two\none\n' });
  });

  test('a signal reaches a command that reads nothing, past what it does not read', async () => {
    await using run = await (await connected()).startRun();
    const started = Promise.withResolvers<void>();
    async function* input() {
      yield { kind: 'bytes', bytes: new Uint8Array(1024 * 1024) } as const;
      await started.promise;
      yield { kind: 'signal', name: 'SIGINT' } as const;
    }
    const script = 'trap "echo caught; exit 7" INT; echo ready; while :; do sleep 0.1; done';
    const { outcome } = await run.call(
      'palyra.process.run',
      { argv: ['bash', '-c', script], stdin_open: true },
      { input: input(), onOutput: () => started.resolve() },
    );
    expect(outcome).toMatchObject({ kind: 'completed', exit_code: 7, stdout: 'ready\ncaught\n' });
  });

  test('what policy forbids is a result with its reason', async () => {
    await using run = await (await connected()).startRun();
    const result = await run.call('palyra.fs.read', { path: '../palyra/identity/operator/device.key' });
    expect(result.outcome).toMatchObject({ kind: 'refused', code: expect.any(String), message: expect.any(String) });
  });

  test('a human is asked, answers with the key of their device, and the call goes on', async () => {
    const credential = openOperatorCredential(palyrad.home.identity);
    const signer = deviceDecider(credential, { principal: 'user:ada', assurance: 'same_host_key' });
    await using run = await (await connected()).startRun();
    const call = run.call('palyra.fs.write', PROTECTED, { says: 'I need it.' });
    for await (const change of operator.approvals.watch()) {
      if (change.kind !== 'approval' || change.approval.state !== 'pending') continue;
      expect(change.approval).toMatchObject({
        principal: 'agent:local',
        prompt: { agent_says: { text: 'I need it.' } },
      });
      expect(await operator.approvals.get(change.approval.approval_id.slice(-6))).toEqual(change.approval);
      expect(
        await operator.approvals.decide(change.approval, { decision: 'approve', scope: 'once' }, signer),
      ).toMatchObject({ kind: 'decided', state: 'approved' });
      break;
    }
    expect(await call).toMatchObject({
      decision: { kind: 'allow' },
      approval: { outcome: 'approved', scope: 'once', decided_by: 'user:ada' },
      outcome: { kind: 'completed' },
    });
  });

  test('an agent cannot answer', async () => {
    const agent = await connected();
    await using run = await agent.startRun();
    const stop = new AbortController();
    const asked = Promise.withResolvers<string>();
    const call = run.call('palyra.fs.write', PROTECTED, {
      signal: stop.signal,
      onEvent: (event) => (event.kind === 'approval_requested' ? asked.resolve(event.approval_id) : undefined),
    });
    void call.then(({ outcome }) => asked.reject(new Error(JSON.stringify(outcome))));
    const approval = await operator.approvals.get(await asked.promise);
    const signer = { device: 'X', sign: () => new Uint8Array(64) };
    const yes = { decision: 'approve', scope: 'once' } as const;
    await expect(agent.approvals.decide(approval, yes, signer)).rejects.toMatchObject({ code: 'daemon.not_permitted' });
    stop.abort();
    expect((await call).outcome.kind).not.toBe('completed');
  });

  test('the journal says so, and tells on', async () => {
    const { entries } = await operator.journal.query({ newestFirst: true, limit: 5 });
    expect(entries).toHaveLength(5);
    const stop = new AbortController();
    const tail = operator.journal.tail({ signal: stop.signal })[Symbol.asyncIterator]();
    const next = tail.next();
    await using run = await (await connected()).startRun();
    await run.call('palyra.echo', { text: 'x' });
    expect((await next).value).toMatchObject({ seq: expect.any(Number), kind: expect.any(String) });
    stop.abort();
    expect((await operator.journal.checkpoint()).note).toContain('\n');
  });

  test('an error has the code of the command line', async () => {
    await expect(operator.workspaces.add('/')).rejects.toMatchObject({
      name: 'ClientError',
      code: 'gateway.unsafe_workspace',
      fix: 'Name the directory of one project.',
    });
    await expect((await connected()).resumeRun('01M00000000000000000000000')).rejects.toMatchObject({
      code: 'gateway.run_not_found',
    });
  });
});

test('a run survives a palyrad that is killed and comes back elsewhere', async () => {
  const agent = await connected();
  const run = await agent.startRun();
  const before = await run.call('palyra.echo', { text: 'before' }, { key: 'before' });
  palyrad.child.kill('SIGKILL');
  await palyrad.ended();
  const after = run.call('palyra.echo', { text: 'after' });
  palyrad = await palyrad.restart();
  declareLongLived(palyrad.child.pid ?? 0);
  expect((await after).outcome).toMatchObject({ kind: 'completed', output: { text: 'after' } });
  expect(await run.call('palyra.echo', { text: 'before' }, { key: 'before' })).toEqual(before);
  await run.end();

  const kinds: string[] = [];
  for await (const { kind, sequence } of run.events()) kinds.push(`${kind} ${sequence}`);
  expect(new Set(kinds).size).toBe(kinds.length);
  expect(kinds.filter((kind) => kind.startsWith('result'))).toHaveLength(2);
});

test('a renewed certificate is used for the next connection', async () => {
  const read = (name: string) => readFileSync(join(palyrad.home.identity, 'local-agent', name), 'utf8');
  const asked: string[] = [];
  const client = await connected({
    tls() {
      const files = { ca: read('authorities.crt'), cert: read('device.crt'), key: read('device.key') };
      asked.push(files.cert);
      return files;
    },
  });
  await client.tools.list();
  await client.tools.list();
  expect(asked).toHaveLength(1);
  palyrad = await palyrad.restart();
  declareLongLived(palyrad.child.pid ?? 0);
  await client.tools.list();
  expect(asked).toHaveLength(2);
});
