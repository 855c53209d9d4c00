import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { runInProcess } from './cli-in-process.ts';

let parent = '';
let home = '';

beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'palyra-e2e-policy-'));
  home = join(parent, 'home');
  mkdirSync(home, { mode: 0o700 });
});

afterEach(() => rmSync(parent, { recursive: true }));

const palyra = (args: readonly string[], input = '') =>
  runInProcess({ args, input, cwd: parent, variables: { PALYRA_HOME: home } });

function writePolicies(text: string, directory = join(home, 'policies')): string {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  writeFileSync(join(directory, 'own.cedar'), text, { mode: 0o600 });
  return directory;
}

const FREEZE = `@id("freeze")
@reason("Releases are frozen.")
@fix("Wait for the release week.")
forbid (principal, action == Palyra::Action::"tool.execute", resource)
when { context.declared.command_line like "*npm publish*" };
`;

describe('policy explain', () => {
  test('a page says the answer, why, from which facts, and what would change it', async () => {
    writePolicies(FREEZE);
    const { exit, out, err } = await palyra(['policy', 'explain', '--command', 'npm publish']);
    expect([exit, err]).toEqual([0, '']);
    expect(out).toBe(`deny (forbidden): Releases are frozen.
fix: Wait for the release week.

Why
  freeze  forbid  ${join(home, 'policies')}/own.cedar:1
${FREEZE.trimEnd().replaceAll(/^/gm, '    ')}

Facts
  situation  action                         Palyra::Action::"tool.execute"  (freeze)
  declared   context.declared.command_line  "npm publish"                   (freeze)

What would change it
  blocked by the forbid freeze: without, allow
`);
  });

  test('a home without anything answers with the preset, from a file, standard input or options', async () => {
    writeFileSync(join(parent, 'request.json'), '{"enforced": {"hosts": ["example.com:443"]}}');
    const all = await Promise.all([
      palyra(['policy', 'explain', 'request.json', '--json']),
      palyra(['policy', 'explain', '-', '--json'], '{"enforced": {"hosts": ["example.com:443"]}}'),
      palyra(['policy', 'explain', '--host', 'example.com:443', '--json']),
    ]);
    const [first] = all.map(({ exit, out, err }) => ({ exit, err, ...JSON.parse(out) }));
    expect(all.map(({ out }) => JSON.parse(out))).toEqual(all.map(() => JSON.parse(all[0]?.out ?? '')));
    expect(first).toMatchObject({
      exit: 0,
      err: '',
      preset: 'coding',
      decision: {
        kind: 'ask',
        policy_ids: ['new-host'],
        reason_code: 'approval_required',
        obligations: { offer: 'always' },
      },
      policies: [{ id: 'new-host', effect: 'permit', file: 'palyra:coding.cedar' }],
      would_change: [
        { kind: 'approved', answer: 'allow', assurance: 'same_host_key', approvers: 1 },
        { kind: 'not_leaving', answer: 'allow', leavings: ['host'] },
      ],
    });
    expect(first.facts).toContainEqual({
      name: 'context.enforced.leaves',
      value: ['host'],
      origin: 'enforced',
      read_by: ['new-host'],
    });
  });

  test('options come on top of the file, and an allowed call exits with 0 too', async () => {
    const input = '{"enforced": {"hosts": ["example.com:443"], "tier": "B"}}';
    const args = ['policy', 'explain', '-', '--tier', 'C', '--principal', 'user:ada', '--workspace', 'w', '--json'];
    const { decision } = JSON.parse((await palyra(args, input)).out);
    expect(decision.policy_ids).toEqual(['new-host']);
    const allowed = await palyra(['policy', 'explain', '--tool', 'palyra.fs.read']);
    expect([allowed.exit, allowed.out.split(':')[0]]).toEqual([0, 'allow (allowed)']);
  });

  test.each([
    ['not JSON', '{"a": }', 'cli.invalid_usage'],
    ['two equal keys', '{"action": "tool.execute", "action": "x"}', 'cli.invalid_usage'],
    ['an unknown key', '{"enforced": {"host": []}}', 'policy.invalid_request'],
    ['not an object', '[]', 'policy.invalid_request'],
  ])('%s exits with 2', async (_what, input, code) => {
    const { exit, out, err } = await palyra(['policy', 'explain', '-', '--json'], input);
    expect([exit, out, JSON.parse(err).error.code]).toEqual([2, '', code]);
  });

  test('hostile text in a request cannot move the terminal', async () => {
    writePolicies(FREEZE);
    const { exit, out } = await palyra(['policy', 'explain', '--command', 'npm publish \u001b[2K\u202e']);
    expect(exit).toBe(0);
    expect(out).toMatch(/^[\n -~]*$/);
  });

  test('a missing file, and policies that are wrong, exit with 2', async () => {
    expect((await palyra(['policy', 'explain', 'nowhere.json'])).exit).toBe(2);
    writePolicies('permit (principal');
    const { exit, err } = await palyra(['policy', 'explain']);
    expect([exit, err.startsWith('error[policy.invalid_policy_set]')]).toEqual([2, true]);
  });
});

describe('policy diff', () => {
  test('without arguments the preset is compared with the home', async () => {
    writePolicies(FREEZE);
    const { exit, out, err } = await palyra(['policy', 'diff', '--limit', '60']);
    expect([exit, err]).toEqual([0, '']);
    expect(out).toContain(
      `preset coding -> ${join(home, 'policies')}\nadded: freeze\n\nNewly denied\n  tool.execute\n`,
    );
    expect(out).toContain('context.declared.executable = "npm"\n');
    expect(out).toContain('context.declared.arguments = ["publish"]\n');
    expect(out).toMatch(/This is a search, not a proof: \d+ requests were tried, the most allowed\.\n$/);
  });

  test('two directories are compared, as JSON too', async () => {
    const before = writePolicies(FREEZE, join(parent, 'before'));
    const after = writePolicies('', join(parent, 'after'));
    const { exit, out } = await palyra(['policy', 'diff', before, after, '--limit', '60', '--json']);
    const found = JSON.parse(out);
    expect([exit, found.method, found.changes]).toEqual([
      0,
      'search, not proof',
      { added: [], removed: ['freeze'], edited: [] },
    ]);
    expect(found.witnesses[0]).toMatchObject({
      change: 'newly_allowed',
      before: { kind: 'deny', policy_ids: ['freeze'] },
      after: { kind: 'allow' },
      changed_policy_ids: ['freeze'],
    });
  });

  test('the same policies have no difference', async () => {
    const { exit, out } = await palyra(['policy', 'diff']);
    expect([exit, out.endsWith('The policies are the same.\n')]).toEqual([0, true]);
  });

  test.each([
    ['a directory that is not there', ['nowhere'], 'cli.no_directory'],
    ['a limit that is no number', ['--limit', 'many'], 'cli.invalid_option'],
  ])('%s exits with 2', async (_what, args, code) => {
    const { exit, err } = await palyra(['policy', 'diff', ...args, '--json']);
    expect([exit, JSON.parse(err).error.code]).toEqual([2, code]);
  });
});
