import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type ActivePolicies,
  type ActivePoliciesDeps,
  createActivePolicies,
  EVERYTHING_LISTED,
  type PolicyChange,
  parsePolicyTests,
  watchDirectory,
} from '@palyra/policy';
import { systemClock } from '@palyra/primitives';
import { createCaptureLogger, createFakeClock } from '@palyra/testkit';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';

const NO_BASH = '@id("no-bash")\nforbid (principal, action, resource == Palyra::Tool::"palyra.process.run");\n';
const NO_SLEEP = '@id("no-sleep")\nforbid (principal, action, resource == Palyra::Tool::"palyra.sleep");\n';
const CALL = aCall();

let directory = '';
let changes: PolicyChange[] = [];
let active: ActivePolicies | undefined;

beforeEach(() => {
  directory = join(mkdtempSync(join(tmpdir(), 'palyra-active-')), 'policies');
  mkdirSync(directory, { mode: 0o700 });
  changes = [];
});

afterEach(async () => {
  await active?.close();
  active = undefined;
  rmSync(join(directory, '..'), { recursive: true });
});

/** A process in its box. */
function aCall() {
  const text = '[[test]]\nname = "x"\nexpect = "allow"\n';
  const [only] = parsePolicyTests([{ name: 'x', text, origin: { kind: 'operator' } }]);
  if (only === undefined) throw new Error('no request');
  return only.request;
}

async function start(deps: Partial<ActivePoliciesDeps> = {}): Promise<ActivePolicies> {
  active = await createActivePolicies({
    directory,
    preset: 'coding',
    config: EVERYTHING_LISTED,
    clock: systemClock,
    logger: createCaptureLogger().logger,
    recordChange: (change) => void changes.push(change),
    ...deps,
  });
  return active;
}

function put(name: string, text: string): void {
  writeFileSync(join(directory, name), text, { mode: 0o600 });
}

test('an edit is pending until it is applied, and then decides', async () => {
  const policies = await start();
  expect([policies.decide(CALL).kind, await policies.pending()]).toEqual(['allow', false]);

  put('a.cedar', NO_BASH);
  expect([policies.decide(CALL).kind, await policies.pending()]).toEqual(['allow', true]);

  const before = policies.current().digest;
  const change = await policies.apply();
  expect(policies.decide(CALL)).toMatchObject({ kind: 'deny', policyIds: ['no-bash'] });
  expect(await policies.pending()).toBe(false);
  expect(changes).toEqual([
    { cause: 'started', preset: 'coding', digest: before, policies: 24, tests: 0, warnings: [] },
    { ...change, cause: 'applied', digest: policies.current().digest, previousDigest: before, policies: 25 },
  ]);
});

test('a bad edit is refused with its problems and the last good set goes on deciding', async () => {
  put('a.cedar', NO_BASH);
  const policies = await start();
  const good = policies.current();
  const broken: readonly (readonly [string, string])[] = [
    ['a.cedar', `${NO_BASH}forbid (`],
    ['b.cedar', '@id("x") permit (principal, action, resource) when { context.nothing };'],
    ['b.policytest.toml', '[[test]]\nname = "bash runs"\nexpect = "allow"\n'],
  ];
  for (const [name, text] of broken) {
    put(name, text);
    await expect(policies.apply()).rejects.toMatchObject({ problems: [{ file: `policies/${name}` }] });
    expect([policies.decide(CALL).kind, policies.current(), await policies.pending()]).toEqual(['deny', good, true]);
    put(name, name === 'a.cedar' ? NO_BASH : '');
  }
  expect(changes.map(({ cause }) => cause)).toEqual(['started']);
});

test('what cannot be recorded does not become active', async () => {
  const recordChange = vi.fn<(change: PolicyChange) => void>();
  const policies = await start({ recordChange });
  put('a.cedar', NO_BASH);
  recordChange.mockImplementationOnce(() => {
    throw new Error('the journal is full');
  });
  await expect(policies.apply()).rejects.toThrow('the journal is full');
  expect(policies.decide(CALL).kind).toBe('allow');
});

test('a set that cannot be used is a refusal to start', async () => {
  put('a.cedar', 'nonsense');
  await expect(start()).rejects.toMatchObject({ code: 'policy.invalid_policy_set' });
});

test('observe lets calls through and says what coding and the operator’s policies would have answered', async () => {
  put('a.cedar', NO_BASH);
  put('a.policytest.toml', '[[test]]\nname = "bash does not run"\nexpect = "deny"\n');
  const policies = await start({ preset: 'observe' });
  expect(policies.decide(CALL)).toMatchObject({
    kind: 'allow',
    policyIds: ['observe'],
    observed: { kind: 'deny', policyIds: ['no-bash'] },
  });
});

test('with auto_apply an edit takes effect once it rests, and a bad one is told once', async () => {
  const clock = createFakeClock();
  const { logger, lines } = createCaptureLogger();
  let ring = (): void => undefined;
  const watch = (_directory: string, onChange: () => void) => {
    ring = onChange;
    return () => undefined;
  };
  const policies = await start({ clock, logger, watch });
  const rest = () => vi.waitFor(() => expect(clock.dueTimes()).toContain(clock.now() + 300), { timeout: 20_000 });

  put('a.cedar', NO_SLEEP);
  ring();
  await rest();
  // Half of an edit: the forbid that was to follow is not there yet, and must not be missed.
  put('a.cedar', `${NO_SLEEP}${NO_BASH}`);
  await clock.advance(300);
  await rest();
  await clock.advance(300);
  await vi.waitFor(() => expect(changes).toHaveLength(2), { timeout: 20_000 });
  expect(changes[1]).toMatchObject({ cause: 'auto_applied', policies: 26 });
  expect(policies.decide(CALL).kind).toBe('deny');

  put('a.cedar', 'forbid (');
  ring();
  await rest();
  await clock.advance(300);
  await vi.waitFor(() => expect(lines).toHaveLength(1), { timeout: 20_000 });
  ring();
  await vi.waitFor(() => expect(clock.dueTimes()).toEqual([clock.now() + 30_000]), { timeout: 20_000 });
  await clock.advance(30_000);
  await vi.waitFor(() => expect(clock.dueTimes()).toEqual([clock.now() + 30_000]), { timeout: 20_000 });
  expect(lines).toMatchObject([{ level: 'warn', message: expect.stringContaining('the last good ones stay') }]);
  expect(policies.decide(CALL)).toMatchObject({ kind: 'deny', policyIds: ['no-bash'] });
});

test('the real watch tells of edits, of new files and of a directory that appears', async () => {
  const seen: string[] = [];
  rmSync(directory, { recursive: true });
  const stop = watchDirectory(directory, () => seen.push('change'));
  const told = async (act: () => void) => {
    const before = seen.length;
    act();
    await vi.waitFor(() => expect(seen.length).toBeGreaterThan(before), { timeout: 10_000 });
  };
  await told(() => mkdirSync(directory, { mode: 0o700 }));
  await told(() => put('a.cedar', NO_BASH));
  await told(() => put('a.cedar', NO_SLEEP));
  await told(() => mkdirSync(join(directory, 'workspaces'), { mode: 0o700 }));
  await told(() => put('workspaces/w1.cedar', ''));
  stop();
  expect(seen.length).toBeGreaterThan(4);
});
