import { describe, expect, test } from 'vitest';
import { parsePolicyTests } from './parse-policy-tests.ts';
import { PolicyError } from './policy-error.ts';
import type { PolicyTestFile } from './presets.ts';

function file(text: string): PolicyTestFile {
  return { name: 'policies/a.policytest.toml', text, origin: { kind: 'operator' } };
}

function refusal(text: string): PolicyError {
  try {
    parsePolicyTests([file(text)]);
  } catch (thrown) {
    if (thrown instanceof PolicyError) return thrown;
    throw thrown;
  }
  throw new Error('the tests were accepted');
}

test('what is not said is a process in its box', () => {
  expect(parsePolicyTests([file('[[test]]\nname = "x"\nexpect = "allow"\n')])).toMatchObject([
    {
      name: 'x',
      file: 'policies/a.policytest.toml',
      line: 1,
      request: {
        principal: { type: 'Agent', id: 'codex' },
        groups: [],
        action: 'tool.execute',
        resource: { type: 'Tool', id: 'palyra.process.run' },
        context: {
          coverage: 'mcp_only',
          separation: 'personal',
          now: Date.UTC(2026, 0, 14, 12),
          facts: { kind: 'call', toolName: 'palyra.process.run', capabilities: ['process_exec'], taints: [] },
        },
      },
      config: { allowedTools: ['*'] },
      expected: { answer: 'allow' },
    },
  ]);
});

test('a test’s own words come before the defaults of its file, table by table', () => {
  const [only] = parsePolicyTests([
    file(`
[defaults]
principal = "user:ada"
groups = ["team"]
enforced = { tier = "B", hosts = ["a.example:443"] }
config.allowed_tools = ["mcp.*"]

[[test]]
name = "x"
resource = "tool:mcp.gh.star"
groups = []
enforced.hosts = ["b.example:443"]
enforced.registry_hosts = ["c.example:443"]
now = 2026-02-01T00:00:00Z
approval = { assurance = "user_verified" }
expect = { answer = "ask", policies = ["b", "a"], observed = "deny" }
`),
  ]);
  expect(only).toMatchObject({
    line: 8,
    request: {
      principal: { type: 'User', id: 'ada' },
      groups: [],
      context: {
        now: Date.UTC(2026, 1, 1),
        approval: { assurance: 'user_verified', approvers: 1 },
        facts: {
          toolName: 'mcp.gh.star',
          enforced: { tier: 'B', hosts: ['b.example:443', 'c.example:443'], registryHosts: ['c.example:443'] },
        },
      },
    },
    config: { allowedTools: ['mcp.*'], allowedSkills: ['*'] },
    expected: { answer: 'ask', policies: ['b', 'a'], observed: 'deny' },
  });
});

test('beside the policies of a workspace a test is about that workspace', () => {
  const origin = { kind: 'workspace', workspace: 'w1' } as const;
  const text = '[[test]]\nname = "x"\nexpect = "allow"\n[[test]]\nname = "y"\nworkspace = "w2"\nexpect = "ask"\n';
  const tests = parsePolicyTests([{ name: 'policies/workspaces/w1.policytest.toml', text, origin }]);
  expect(tests.map(({ request }) => request.context.workspace)).toEqual(['w1', 'w2']);
});

describe('what is refused names its test', () => {
  const NAMED = '\n[[test]]\nname = "x"\n';

  test.each([
    [
      'an unknown key',
      'expect = "allow"\nenforced.hots = []',
      '"x" has an unknown key enforced.hots.',
      'Did you mean hosts?',
    ],
    ['another unknown key', 'expct = "allow"\nexpect = "ask"', '"x" has an unknown key expct.', 'Did you mean expect?'],
    ['no expectation', '', '"x": expect: Invalid input: expected object, received undefined.', undefined],
    ['another answer', 'expect = "maybe"', '"x": expect.answer: Invalid option', undefined],
    [
      'a principal of no kind',
      'expect = "ask"\nprincipal = "codex"',
      '"x": principal: must be "user:NAME" or',
      undefined,
    ],
    [
      'a host that is not canonical',
      'expect = "deny"\nenforced.hosts = ["Example.com"]',
      '"x" asks for what cannot be',
      undefined,
    ],
    ['an action without a resource', 'expect = "deny"\naction = "run.read"', 'run.read needs a resource', undefined],
    [
      'a time without a zone',
      'expect = "deny"\nnow = 2026-01-01T00:00:00',
      '"x": now: must say its time zone',
      undefined,
    ],
    ['a date that is none', 'expect = "deny"\nnow = 5', '"x": now: Invalid input', undefined],
    [
      'a name that is taken',
      `expect = "ask"${NAMED}expect = "ask"`,
      '"x" has the name of the test in line 2.',
      undefined,
    ],
  ])('%s', (_what, body, message, fix) => {
    const error = refusal(`${NAMED}${body}\n`);
    expect({ code: error.code, message: error.message }).toEqual({
      code: 'policy.invalid_test',
      message: expect.stringContaining(`policies/a.policytest.toml:`),
    });
    expect(error.message).toContain(message);
    expect(error.fix).toBe(fix);
  });

  test('text that is not TOML, with its place', () => {
    expect(refusal('[[test]]\nname = \n').message).toMatch(/^policies\/a\.policytest\.toml:2:\d+: This is not TOML: /);
  });

  test('a key outside any test, and keys that reach for a prototype', () => {
    expect(refusal('tests = 1').message).toContain('The file has an unknown key tests.');
    expect(refusal(`${NAMED}expect = "deny"\n__proto__ = { action = "run.read" }`).code).toBe('policy.invalid_test');
    expect(refusal('[defaults]\nconstructor = 1').message).toContain('[defaults] has an unknown key constructor.');
  });
});
