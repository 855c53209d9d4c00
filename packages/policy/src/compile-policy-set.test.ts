import { describe, expect, test } from 'vitest';
import { compilePolicySet } from './compile-policy-set.ts';
import { PolicyError } from './policy-error.ts';
import type { PolicyFile } from './policy-set.ts';

const NEVER_PROD = '@id("never-prod")\nforbid (principal, action, resource in Palyra::McpServer::"prod");';
const HOOKED =
  '@id("hooked")\n@offer("once")\nforbid (principal, action in Palyra::Action::"execute", resource)\nwhen { context.coverage == "hooked" && !context.approved };';

function file(text: string, name = 'policies/a.cedar'): PolicyFile {
  return { name, text, origin: { kind: 'operator' } };
}

function workspaceFile(text: string): PolicyFile {
  return { name: 'policies/workspaces/w1.cedar', text, origin: { kind: 'workspace', workspace: 'w1' } };
}

function compile(...files: readonly PolicyFile[]) {
  return compilePolicySet({ preset: 'coding', files });
}

function refusal(...files: readonly PolicyFile[]): PolicyError {
  try {
    compile(...files);
  } catch (thrown) {
    if (thrown instanceof PolicyError) return thrown;
    throw thrown;
  }
  throw new Error('the policies were accepted');
}

describe('what is accepted', () => {
  test('operator policies stand beside ours, with their place and what their annotations say', () => {
    const { policies } = compile(file(`// a comment\n${NEVER_PROD}\n\n  ${HOOKED}`));
    expect(policies.find(({ id }) => id === 'hooked')).toEqual({
      id: 'hooked',
      text: HOOKED,
      effect: 'forbid',
      file: 'policies/a.cedar',
      line: 5,
      column: 3,
      reason: undefined,
      fix: undefined,
      obligations: { offer: 'once' },
      origin: { kind: 'operator' },
    });
    expect(policies.map(({ id }) => id)).toEqual(policies.map(({ id }) => id).toSorted());
  });

  test('the digest is of the policies and the preset, not of the files they are in', () => {
    const one = compile(file(`${NEVER_PROD}\n${HOOKED}`)).digest;
    expect(compile(file(HOOKED, 'policies/b.cedar'), file(NEVER_PROD)).digest).toBe(one);
    expect(compile(file(`// moved\n\n${HOOKED}`), file(NEVER_PROD, 'policies/z.cedar')).digest).toBe(one);
    expect(compile(file(NEVER_PROD)).digest).not.toBe(one);
    expect(compile(file(`${NEVER_PROD}\n${HOOKED.replace('hooked"', 'direct"')}`)).digest).not.toBe(one);
    expect(compilePolicySet({ preset: 'locked', files: [file(`${NEVER_PROD}\n${HOOKED}`)] }).digest).not.toBe(one);
  });

  test('an empty file, and one of comments, hold no policies', () => {
    expect(compile(file(''), file('// nothing yet\n', 'policies/b.cedar')).digest).toBe(compile().digest);
  });

  test('a policy that can never hold is a warning', () => {
    const impossible = '@id("odd") permit (principal, action, resource) when { false };';
    expect(compile(file(impossible)).warnings).toMatchObject([{ policyId: 'odd' }]);
  });
});

describe('what is refused, with its place', () => {
  test.each([
    ['broken text', 'permit (principal, action resource);', '1:27', 'This is not Cedar: unexpected token `resource`'],
    ['a file that ends too early', `${NEVER_PROD}\n@id("x") forbid (principal`, '3:27', 'This is not Cedar'],
    ['a policy without an id', `\npermit (principal, action, resource);`, '2:1', 'A policy has no @id.'],
    ['an id of another form', '@id("A b") permit (principal, action, resource);', '1:1', '@id("A b") is not an id.'],
    ['an id of ours', NEVER_PROD.replace('never-prod', 'never'), '1:1', "The id never is one of Palyra's own"],
    ['a template', '@id("t") permit (principal == ?principal, action, resource);', '1:1', 't is a template'],
    ['an unknown annotation', '@id("x") @teir("C") permit (principal, action, resource);', '1:1', '@teir is not an'],
    ['a malformed annotation', '@id("x") @tier("D") permit (principal, action, resource);', '1:1', '@tier("D") has a'],
    [
      'an attribute outside the schema',
      '@id("x") permit (principal, action == Palyra::Action::"tool.execute", resource)\n  when { context.enforced.teir == "C" };',
      '2:10',
      'x: attribute `enforced.teir`',
    ],
    [
      'an action outside the schema',
      '@id("x") permit (principal, action == Palyra::Action::"tool.run", resource);',
      '1:39',
      'x: unrecognized action',
    ],
  ])('%s', (_what, text, place, message) => {
    const [problem, ...others] = refusal(file(text)).problems;
    expect(others).toEqual([]);
    expect({ ...problem, place: `${problem?.line}:${problem?.column}` }).toMatchObject({
      file: 'policies/a.cedar',
      place,
      message: expect.stringContaining(message),
    });
  });

  test('an id that is taken, with the place that has it', () => {
    const error = refusal(file(NEVER_PROD), file(`\n${NEVER_PROD}`, 'policies/b.cedar'));
    expect(error.message).toBe('policies/b.cedar:2:1: The id never-prod is taken (policies/a.cedar:1).');
  });

  test('every problem of every file at once', () => {
    const error = refusal(file('permit (principal, action, resource);'), file('nonsense', 'policies/b.cedar'));
    expect(error.problems.map((problem) => problem.file)).toEqual(['policies/b.cedar', 'policies/a.cedar']);
    expect(error.message).toContain('There are 2 problems:');
  });

  test('too many policies, before Cedar is asked to parse them', () => {
    const many = Array.from({ length: 50_000 }, () => 'permit(principal,action,resource);').join('');
    expect(refusal(file(many))).toMatchObject({
      code: 'policy.too_large',
      message: 'There are 50000 policies, and 5000 are the most.',
    });
    expect(refusal(file(`${many}${many}`))).toMatchObject({ code: 'policy.too_large' });
  });

  test('too many bytes, in one file or together', () => {
    expect(refusal(file('//'.padEnd(10 * 1024 * 1024, 'x')))).toMatchObject({ code: 'policy.too_large' });
    const half = '//'.padEnd(1_200_000, 'x');
    expect(refusal(file(half), file(half, 'policies/b.cedar'))).toMatchObject({ code: 'policy.too_large' });
  });
});

describe('a policy of one workspace', () => {
  const GUARD = 'context has workspace && context.workspace == Palyra::Workspace::"w1"';
  const permitWhen = (condition: string) =>
    workspaceFile(`@id("here") permit (principal, action in Palyra::Action::"execute", resource) ${condition};`);

  test.each([
    [`when { ${GUARD} }`],
    [`when { ${GUARD} && context.approved }`],
    [`when { context has workspace && Palyra::Workspace::"w1" == context.workspace && context.approved }`],
    [`when { ${GUARD} } when { context.approved } unless { context.coverage == "hooked" }`],
  ])('is accepted when it begins with its guard: %s', (condition) => {
    expect(compile(permitWhen(condition)).policies.some(({ id }) => id === 'here')).toBe(true);
  });

  test.each([
    [''],
    ['when { context.approved }'],
    [`when { context.approved || (${GUARD}) }`],
    [`when { ${GUARD} || context.approved }`],
    [`when { if ${GUARD} then true else true }`],
    [`when { !(${GUARD}) }`],
    [`unless { ${GUARD} }`],
    ['when { context has workspace && context.workspace == Palyra::Workspace::"w2" }'],
    ['when { context has workspace && context.workspace != Palyra::Workspace::"w1" }'],
  ])('is refused when it could hold elsewhere: %s', (condition) => {
    expect(refusal(permitWhen(condition)).message).toContain('here is not limited to the workspace w1.');
  });
});
