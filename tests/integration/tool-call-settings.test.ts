import { findSetting, parseConfig } from '@palyra/config';
import { DEFAULT_TOOL_CALL_CONFIG } from '@palyra/gateway';
import { DEFAULT_LIMITS } from '@palyra/sandbox';
import { afterEach, expect, test } from 'vitest';
import { toolCallConfigOf } from '../../apps/daemon/src/tool-call-config-of.ts';
import { refuseUnheld } from '../../apps/daemon/src/workspace-profile.ts';
import { isAllowedTool, snapshotOf } from '../../packages/gateway/src/tool-call-config.ts';
import { policySnapshotText } from '../../packages/journal/src/format/policy-snapshot.ts';
import { type DaemonHouse, openDaemonHouse } from './daemon-house.ts';

let house: DaemonHouse | undefined;

afterEach(async () => {
  await house?.close();
  house = undefined;
});

const configIn = (toml: string) => parseConfig(toml, 'palyra.toml').config;

test('a file that says nothing of calls and commands gives what tools and sandboxes have without one', () => {
  const { processRunner, ...rest } = DEFAULT_TOOL_CALL_CONFIG;
  // Said in full, so that the signed snapshot says what held.
  expect(toolCallConfigOf(configIn(''))).toEqual({
    ...rest,
    processRunner: { ...processRunner, limits: DEFAULT_LIMITS },
  });
});

/** A palyrad with these settings, and a run in it. */
async function begin(toml: string) {
  const unlisted = toml.includes('[egress]') ? '' : '[egress]\nunlisted = "deny"\n';
  house = await openDaemonHouse({ config: configIn(`${unlisted}${toml}`) });
  const { daemon, agent, workspace, ada, asked: asking } = house;
  const run = await daemon.gateway.startRun(agent, { workspace });
  return {
    call: (tool: string, input: object) => run.call({ tool, input: JSON.stringify(input) }),
    /** A command that a human is asked about, and what is asked. */
    async asked(input: object, decision: 'approve' | 'deny') {
      const calling = run.call({ tool: 'palyra.process.run', input: JSON.stringify(input) });
      const { approvalId, shown, prompt } = await asking();
      const answer = decision === 'approve' ? ({ decision, scope: 'once' } as const) : { decision, reason: 'No.' };
      await daemon.approvals.decide(approvalId, { ...answer, shown, by: ada });
      const hosts = prompt.what.hosts.map((host) => host.shown);
      return { policies: prompt.policy.ids, hosts, result: await calling };
    },
    async snapshot() {
      const { entries } = await daemon.journal.query({ kinds: ['run.started'], limit: 1 });
      const [started] = entries;
      if (started?.kind !== 'run.started') throw new Error('No run began.');
      return daemon.journal.snapshot(started.data.policy_snapshot ?? '');
    },
  };
}

test('palyra.toml says which tools there are, how many calls a run makes and how long each may take', async () => {
  const { call, snapshot } = await begin(
    '[tool_calls]\nallowed_tools = "palyra.echo palyra.sleep"\nmax_calls_per_run = 3\nexecution_timeout_ms = 300\n',
  );
  const ends = [
    await call('palyra.fs.list', {}),
    await call('palyra.process.run', { argv: ['true'] }),
    await call('palyra.echo', { text: 'a' }),
    await call('palyra.sleep', { ms: 20_000 }),
    await call('palyra.echo', { text: 'b' }),
  ];
  expect(ends.map(({ outcome: { kind, code } }) => code ?? kind)).toEqual([
    'gateway.tool_not_allowed',
    'gateway.tool_not_allowed',
    'completed',
    'tool.timed_out',
    'completed',
  ]);
  expect(house?.daemon.toolCalls.allowedTools).toEqual(['palyra.echo', 'palyra.sleep']);
  expect(await snapshot()).toMatchObject({
    allowed_tools: ['palyra.echo', 'palyra.sleep'],
    max_calls_per_run: 3,
    execution_timeout_ms: 300,
  });
  expect((await call('palyra.echo', { text: 'c' })).outcome.code).toBe('gateway.budget_exhausted');
});

test('palyra.toml holds commands to limits, and the record names them', async () => {
  const { call, snapshot } = await begin('[process_runner]\noutput_bytes = 1000\nprocesses = 64\n');
  const { outcome } = await call('palyra.process.run', { argv: ['head', '-c', '5000', '/dev/zero'] });
  expect(outcome).toMatchObject({ kind: 'quota_exceeded' });
  const named = /process_runner\.\w+/.exec(outcome.fix ?? '')?.[0] ?? '';
  expect(findSetting(named)).toMatchObject({ key: 'process_runner.output_bytes' });
  expect(await snapshot()).toMatchObject({ process_runner: { limits: { output_bytes: 1000, processes: 64 } } });
});

test('palyra.toml can forbid commands, and leaves the file tools alone', async () => {
  const { call, snapshot } = await begin('[process_runner]\nenabled = false\n');
  expect((await call('palyra.process.run', { argv: ['true'] })).outcome.code).toBe('gateway.tool_not_allowed');
  expect((await call('palyra.fs.list', {})).outcome.kind).toBe('completed');
  expect(await snapshot()).toMatchObject({ process_runner: { enabled: false } });
});

test('palyra.toml says where a command runs that does not say; policy is asked, and files keep their box', async () => {
  const { call, asked, snapshot } = await begin('[process_runner]\ntier = "B"\negress = "none"\n');
  const { policies, result } = await asked({ argv: ['true'] }, 'approve');
  expect([policies, result.outcome.kind, result.attestation.executor]).toEqual([
    ['leave-the-box'],
    'completed',
    'sandbox_tier_b',
  ]);
  const boxed = [
    await call('palyra.process.run', { argv: ['true'], sandbox: 'strict' }),
    await call('palyra.fs.list', {}),
  ];
  expect(boxed.map(({ decision, attestation }) => [decision.kind, attestation.executor])).toEqual([
    ['allow', 'sandbox_tier_c_linux_bubblewrap'],
    ['allow', 'sandbox_tier_c_linux_bubblewrap'],
  ]);
  expect(await snapshot()).toMatchObject({ process_runner: { tier: 'B', egress_enforcement_mode: 'none' } });
});

test('hosts of palyra.toml are decided as if the call had named them, and a call that names others has those', async () => {
  const { call, asked, snapshot } = await begin('[process_runner]\nhosts = "One.example:80,443, *.two.example"\n');
  const usual = await asked({ argv: ['true'] }, 'deny');
  expect([usual.policies, usual.hosts, usual.result.outcome.code]).toEqual([
    ['new-host'],
    ['one.example:80', 'one.example:443', '*.two.example:443'],
    'gateway.approval_denied',
  ]);
  expect((await asked({ argv: ['true'], network: ['three.example'] }, 'deny')).hosts).toEqual(['three.example:443']);
  expect((await asked({ argv: ['true'], egress: 'none' }, 'deny')).policies).toEqual(['leave-the-box']);
  expect((await call('palyra.process.run', { argv: ['true'], network: [] })).outcome.kind).toBe('completed');
  expect((await call('palyra.fs.list', {})).outcome.kind).toBe('completed');
  expect(await snapshot()).toMatchObject({
    process_runner: {
      egress_enforcement_mode: 'strict',
      allowed_egress_hosts: ['one.example:443', 'one.example:80'],
      allowed_egress_host_suffixes: ['.two.example:443'],
    },
  });
});

test('with preflight, what the arguments name beside the hosts of palyra.toml is refused before anybody is asked', async () => {
  const { call } = await begin('[process_runner]\negress = "preflight"\nhosts = "one.example"\n');
  expect((await call('palyra.process.run', { argv: ['curl', 'https://two.example/'] })).outcome.code).toBe(
    'gateway.egress_denied',
  );
});

test.each([
  ['tier = "B"', 'process_runner: nothing holds a command of Tier B'],
  ['egress = "none"\nhosts = "one.example"', 'process_runner: the open network'],
  ['hosts = "one.example/x"', 'process_runner.hosts: "one.example/x" is not a host'],
  ['hosts = "*.com"', 'process_runner.hosts: "*.com" covers every name'],
  ['hosts = "2130706433"', 'process_runner.hosts: "2130706433" is the address 127.0.0.1 in disguise'],
  ['hosts = "https://one.example"', 'process_runner.hosts: "https://one.example" has a scheme'],
])('palyrad does not start with %j', (lines, message) => {
  // What it does first: then there is no house to tear down.
  const begins = () => refuseUnheld(toolCallConfigOf(configIn(`[process_runner]\n${lines}\n`)));
  expect(begins).toThrow(
    expect.objectContaining({
      code: 'gateway.invalid_config',
      message: expect.stringContaining(message),
      fix: expect.any(String),
    }),
  );
});

test('what the operator says of connections is in the signed snapshot', async () => {
  const { snapshot } = await begin(
    '[egress]\nunlisted = "deny"\nprivate_ranges = "10.0.0.0/8, 127.0.0.1:8080"\nregistries = "npm.example"\n' +
      'hosts = "db.example=10.0.0.7"\nconnections = 7\nmegabytes_out = 1\n',
  );
  expect((await snapshot()).egress).toEqual({
    unlisted: 'deny',
    private_ranges: ['10.0.0.0/8', '127.0.0.1:8080'],
    registry_hosts: ['npm.example:443'],
    pinned_hosts: ['db.example=10.0.0.7'],
    authorities_sha256: [],
    limits: expect.objectContaining({ connections: 7, bytes_out: 1_048_576, bytes_in: 8_589_934_592 }),
  });
});

test.each([
  'tool_calls.allowed_tools = "palyra.fs*"',
  'tool_calls.allowed_tools = "palyra.fs.read, palyra.fs.list"',
  'tool_calls.max_calls_per_run = 0',
  'tool_calls.execution_timeout_ms = 0',
  'process_runner.processes = 1',
  'process_runner.tier = "A"',
  'process_runner.egress = "off"',
  'process_runner.hosts = true',
])('%s is refused', (line) => {
  expect(() => configIn(line)).toThrow(expect.objectContaining({ code: 'config.invalid_value' }));
});

test('every setting of calls, commands and modules is in the signed snapshot', () => {
  const changed = [
    '[tool_calls]\nallowed_tools = "palyra.echo"',
    '[tool_calls]\nmax_calls_per_run = 7',
    '[tool_calls]\nexecution_timeout_ms = 7000',
    ...Object.entries(configIn('').process_runner).map(
      ([name, usual]) => `[process_runner]\n${name} = ${another(usual)}`,
    ),
    ...Object.entries(configIn('').wasm_runtime).map(([name, usual]) => `[wasm_runtime]\n${name} = ${another(usual)}`),
  ];
  const policies = { digest: 'a'.repeat(64) as never, preset: 'coding' as const };
  const digestOf = (toml: string) => {
    const config = toolCallConfigOf(configIn(toml));
    return policySnapshotText(
      snapshotOf({ config, allowedNames: () => NAMES.filter((name) => isAllowedTool(config, name)) }, policies),
    );
  };
  const all = ['', ...changed].map(digestOf);
  expect(changed.filter((_, at) => all[at + 1] === all[0])).toEqual([]);
});

const NAMES = ['palyra.echo', 'palyra.fs.list'];

const OTHERS = new Map<unknown, string>([
  ['C', '"B"'],
  ['strict', '"preflight"'],
  ['', '"one.example"'],
]);

function another(usual: unknown): string {
  if (typeof usual === 'boolean') return String(!usual);
  if (OTHERS.has(usual)) return OTHERS.get(usual) as string;
  return typeof usual === 'number' ? String(usual + 1) : '"now"';
}
