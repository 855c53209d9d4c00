import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { runInProcess } from './cli-in-process.ts';

const NO_FORCE =
  '@id("no-force")\nforbid (principal, action == Palyra::Action::"tool.execute", resource)\n' +
  'when { context.declared.arguments.contains("--force") };\n';
const TEST =
  '[[test]]\nname = "force is refused"\ndeclared.arguments = ["push", "--force"]\n' +
  'expect = { answer = "deny", policies = ["no-force"] }\n';

let parent = '';
let home = '';
let policies = '';

beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'palyra-policy-e2e-'));
  home = join(parent, 'home');
  policies = join(home, 'policies');
  mkdirSync(policies, { recursive: true, mode: 0o700 });
});

afterEach(() => rmSync(parent, { recursive: true }));

const palyra = (...args: readonly string[]) =>
  runInProcess({ args, input: '', cwd: parent, variables: { NO_COLOR: '1', PALYRA_HOME: home } });

function put(name: string, text: string): string {
  const path = join(policies, name);
  writeFileSync(path, text, { mode: 0o600 });
  return path;
}

describe('policy check', () => {
  test('a home without policies, or no home at all, has the preset’s', async () => {
    expect(await palyra('policy', 'check', '--json')).toMatchObject({ exit: 0, err: '' });
    rmSync(home, { recursive: true });
    const { exit, out } = await palyra('policy', 'check', '--json');
    expect([exit, JSON.parse(out)]).toMatchObject([
      0,
      { valid: true, preset: 'coding', digest: expect.stringMatching(/^[0-9a-f]{64}$/), policies: { operator: 0 } },
    ]);
  });

  test('counts, warnings and the digest are told to people and programs', async () => {
    const file = put('a.cedar', `${NO_FORCE}\n${NO_FORCE.replace('no-force', 'git').replace('forbid', 'permit')}`);
    put('a.policytest.toml', TEST);
    const { exit, out, err } = await palyra('policy', 'check');
    expect([exit, out.split('\n').slice(0, 4)]).toEqual([
      0,
      [
        `The policies in ${policies} are valid.`,
        '  preset    coding (24 policies)',
        '  yours     2 policies, 0 for single workspaces, in 1 file',
        '  tests     1 (run them: palyra policy test)',
      ],
    ]);
    expect(err).toMatch(`warning: ${file}:5:1: git: It permits by context.declared alone`);
    const { digest } = JSON.parse((await palyra('policy', 'check', '--json')).out) as { digest: string };
    expect(out).toContain(digest);
  });

  test('every problem has its file, line and column, and the exit code is 2', async () => {
    const first = put('a.cedar', `${NO_FORCE}\n@id("x") @teir("C")\npermit (principal, action, resource);`);
    const second = put('b.cedar', 'permit (principal action);');
    const { exit, out, err } = await palyra('policy', 'check');
    expect([exit, out]).toEqual([2, '']);
    expect(err).toContain('error[policy.invalid_policy_set]: There are 2 problems:');
    expect(err).toContain(`  ${second}:1:19: This is not Cedar: `);
    expect(err).toContain(`  ${first}:5:1: @teir is not an annotation we know.`);
    expect(JSON.parse((await palyra('policy', 'check', '--json')).err)).toMatchObject({
      error: {
        problems: [
          { file: second, line: 1, column: 19 },
          { file: first, line: 5, column: 1 },
        ],
      },
    });
  });

  test('a directory may be given, and must be there', async () => {
    const other = join(parent, 'draft');
    mkdirSync(other, { mode: 0o700 });
    writeFileSync(join(other, 'a.cedar'), NO_FORCE, { mode: 0o600 });
    expect(JSON.parse((await palyra('policy', 'check', 'draft', '--json')).out)).toMatchObject({
      directory: other,
      files: 1,
    });
    expect(await palyra('policy', 'check', 'gone')).toMatchObject({ exit: 2, out: '' });
  });

  test('the preset is the one in palyra.toml', async () => {
    writeFileSync(join(home, 'palyra.toml'), '[policy]\npreset = "locked"\n', { mode: 0o600 });
    expect((await palyra('policy', 'check')).out).toContain('preset    locked');
  });

  test('a file that others can change is not accepted', async () => {
    chmodSync(put('a.cedar', NO_FORCE), 0o666);
    expect(await palyra('policy', 'check')).toMatchObject({
      exit: 2,
      err: expect.stringContaining('fix: Look through it'),
    });
  });
});

describe('policy test', () => {
  test('tests that pass are counted', async () => {
    put('a.cedar', NO_FORCE);
    put('a.policytest.toml', TEST);
    expect(await palyra('policy', 'test')).toEqual({
      exit: 0,
      out: 'The policy test passes (preset coding).\n',
      err: '',
    });
    expect(JSON.parse((await palyra('policy', 'test', '--json')).out)).toMatchObject({
      passed: [{ name: 'force is refused', line: 1 }],
    });
  });

  test('a test that flips is told with what was expected and what came, and the exit code is 2', async () => {
    const file = put('a.policytest.toml', TEST);
    expect(await palyra('policy', 'test')).toEqual({
      exit: 2,
      out: '',
      err:
        `error[policy.test_failed]: ${file}:1:1: "force is refused": expected answer deny, got allow; ` +
        'expected policies [no-force], got [in-the-box].\n' +
        'fix: Change the policy, or the test when the new answer is meant.\n',
    });
  });

  test('a malformed test is told with its name', async () => {
    put('a.policytest.toml', TEST.replace('declared.arguments', 'declared.argumnts'));
    expect(await palyra('policy', 'test')).toMatchObject({
      exit: 2,
      err: expect.stringContaining(
        '"force is refused" has an unknown key declared.argumnts.\nfix: Did you mean arguments?',
      ),
    });
  });

  test('no tests are no failure', async () => {
    expect(await palyra('policy', 'test')).toMatchObject({
      exit: 0,
      out: expect.stringContaining('There are no policy tests'),
    });
  });
});
