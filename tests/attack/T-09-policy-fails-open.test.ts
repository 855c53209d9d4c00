/**
 * T-09: an agent, or bad luck, makes the policies fail, hoping that what cannot be decided is let through: a file that
 * cannot be read or is half written, a policy that errs, numbers and contexts that the engine cannot hold.
 */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type ActivePolicies,
  compilePolicies,
  createActivePolicies,
  EVERYTHING_LISTED,
  loadPolicies,
  type PolicyRequest,
  parsePolicyTests,
  requirePassed,
  runPolicyTests,
} from '@palyra/policy';
import { systemClock } from '@palyra/primitives';
import { createCaptureLogger } from '@palyra/testkit';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

const NO_PROCESS = '@id("no-process")\nforbid (principal, action, resource == Palyra::Tool::"palyra.process.run");\n';
/** Valid, and an error when it is evaluated: the sum does not fit in 64 bits. */
const ERRING = '@id("erring")\nforbid (principal, action, resource) when { 9223372036854775807 + 1 == 0 };\n';

let parent = '';
let directory = '';
let active: ActivePolicies | undefined;

beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'palyra-t09-'));
  directory = join(parent, 'policies');
  mkdirSync(directory, { mode: 0o700 });
});

afterEach(async () => {
  await active?.close();
  active = undefined;
  rmSync(parent, { recursive: true });
});

function put(text: string | Uint8Array, name = 'a.cedar'): string {
  const path = join(directory, name);
  writeFileSync(path, text, { mode: 0o600 });
  return path;
}

async function start(): Promise<ActivePolicies> {
  active = await createActivePolicies({
    directory,
    preset: 'coding',
    config: EVERYTHING_LISTED,
    clock: systemClock,
    logger: createCaptureLogger().logger,
    recordChange: () => undefined,
  });
  return active;
}

function file(text: string) {
  return { name: 'policies/a.cedar', text, origin: { kind: 'operator' } } as const;
}

function testFile(text: string) {
  return { name: 'policies/a.policytest.toml', text, origin: { kind: 'operator' } } as const;
}

/** A process in its box, which every preset but `locked` allows. */
function harmless(): PolicyRequest {
  const [only] = parsePolicyTests([testFile('[[test]]\nname = "x"\nexpect = "allow"\n')]);
  if (only === undefined) throw new Error('no request');
  return only.request;
}

describe('files that cannot be used', () => {
  const ATTACKS: readonly (readonly [string, () => void])[] = [
    ['is cut off in the middle of a policy', () => put(`${NO_PROCESS}@id("more") forbid (principal, act`)],
    ['is cut off in the middle of a string', () => put(NO_PROCESS.slice(0, 60))],
    ['is a link to nothing', () => symlinkSync('gone', join(directory, 'b.cedar'))],
    ['is a link into a workspace', () => linkOut()],
    ['is not UTF-8', () => put(Uint8Array.of(0x2f, 0x2f, 0xff), 'b.cedar')],
    ['can be written by others', () => chmodSync(put(NO_PROCESS), 0o666)],
    ['is a directory', () => mkdirSync(join(directory, 'b.cedar'))],
    ['takes the id of a policy of ours', () => put('@id("never")\npermit (principal, action, resource);', 'b.cedar')],
  ];

  function linkOut(): void {
    writeFileSync(join(parent, 'agent.cedar'), '@id("mine") permit (principal, action, resource);', { mode: 0o600 });
    symlinkSync('../agent.cedar', join(directory, 'b.cedar'));
  }

  test.each(ATTACKS)('a policy file that %s keeps the daemon from starting', async (_what, attack) => {
    attack();
    await expect(start()).rejects.toMatchObject({ name: 'PolicyError' });
  });

  test('none of them replaces the set that forbids', async () => {
    put(NO_PROCESS);
    const policies = await start();
    for (const [, attack] of ATTACKS) {
      attack();
      await expect(policies.apply()).rejects.toMatchObject({ name: 'PolicyError' });
      expect(policies.decide(harmless())).toMatchObject({ kind: 'deny', policyIds: ['no-process'] });
      rmSync(join(directory, 'b.cedar'), { recursive: true, force: true });
      chmodSync(put(NO_PROCESS), 0o600);
    }
    await expect(policies.apply()).resolves.toMatchObject({ cause: 'applied' });
  });
});

describe('an engine that cannot answer', () => {
  test('a policy that errs denies, also where others permit', async () => {
    const loaded = await loadPolicies(compilePolicies({ preset: 'coding', files: [file(ERRING)] }));
    expect(loaded.engine(EVERYTHING_LISTED).decide(harmless())).toMatchObject({
      kind: 'deny',
      reasonCode: 'evaluation_failed',
    });
    loaded.close();
  });

  test('a set that was put away denies', async () => {
    const loaded = await loadPolicies(compilePolicies({ preset: 'coding', files: [] }));
    const engine = loaded.engine(EVERYTHING_LISTED);
    expect(engine.decide(harmless()).kind).toBe('allow');
    loaded.close();
    expect(engine.decide(harmless())).toMatchObject({ kind: 'deny', reasonCode: 'evaluation_failed' });
  });

  test('a context that is too large, a time out of range and an unknown action are denied', async () => {
    const loaded = await loadPolicies(compilePolicies({ preset: 'coding', files: [] }));
    const { decide } = loaded.engine(EVERYTHING_LISTED);
    const request = harmless();
    const { context } = request;
    if (context.facts.kind !== 'call') throw new Error('not a call');
    const declared = { ...context.facts.declared, arguments: ['x'.repeat(300_000)] };
    const attacks: readonly PolicyRequest[] = [
      { ...request, context: { ...context, facts: { ...context.facts, declared } } },
      { ...request, context: { ...context, now: 2 ** 60 } },
      { ...request, context: { ...context, now: Number.NaN } },
      { ...request, action: 'tool.invoke' },
      { ...request, action: '__proto__' },
      { ...request, context: { ...context, facts: { kind: 'situation', isOwn: true } } },
    ];
    expect(attacks.map((attack) => decide(attack).kind)).toEqual(attacks.map(() => 'deny'));
    expect(decide(request).kind).toBe('allow');
    loaded.close();
  });
});

describe('a policy test that proves nothing', () => {
  const asTest = (body: string) => testFile(`[[test]]\nname = "x"\nexpect = "deny"\n${body}\n`);

  test.each([
    [
      'an integer that a double would change',
      'approval = { assurance = "user_verified", approvers = 9007199254740993 }',
    ],
    ['a host that is not canonical', 'enforced.hosts = ["EXAMPLE.com:443"]'],
    ['an action that no schema knows', 'action = "tool.invoke"\nresource = "tool:palyra.echo"'],
    ['a context that is too large', `declared.arguments = ["${'x'.repeat(300_000)}"]`],
  ])('with %s is refused', (_what, body) => {
    expect(() => parsePolicyTests([asTest(body)])).toThrow(expect.objectContaining({ code: 'policy.invalid_test' }));
  });

  test.each([['of a policy that errs', '', ERRING]])(
    '%s fails although it expects a denial',
    async (_what, body, policies) => {
      const compiled = compilePolicies({ preset: 'coding', files: [file(policies)] });
      const results = await runPolicyTests(compiled, parsePolicyTests([asTest(body)]));
      expect(() => requirePassed(results)).toThrow(expect.objectContaining({ code: 'policy.test_failed' }));
    },
  );
});
