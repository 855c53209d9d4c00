// biome-ignore-all lint/suspicious/noTemplateCurlyInString: lines for a shell, not for JavaScript.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { findClient } from '../find-client.ts';
import { findOwnRule } from './find-own-rule.ts';
import type { OwnRule } from './own-rule.ts';
import { readShell } from './read-shell.ts';

function rulesOf(client: string, text: string): readonly OwnRule[] {
  const { hooks } = findClient(client);
  if (hooks?.rules === undefined) throw new Error(`${client} has no rules.`);
  return hooks.rules.read(text);
}

function claude(permissions: object): readonly OwnRule[] {
  return rulesOf('claude-code', JSON.stringify({ permissions }));
}

function verdict(rules: readonly OwnRule[], command: string): string {
  return findOwnRule(rules, { command, directories: ['/work/app', '/work', '/'], userHome: '/home/ada' }).kind;
}

describe('a rule of Claude Code that denies', () => {
  const rules = claude({ deny: ['Bash(rm:*)', 'Bash(git push *)', 'Bash(* --force)', 'Bash(npm publish)'] });

  test.each([
    'rm -rf build',
    'rm',
    '/bin/rm x',
    'cd sub && rm x',
    'true; rm x',
    'ls | xargs rm',
    'echo $(rm x)',
    'echo "`rm x`"',
    'FOO=1 rm x',
    'FOO="$HOME" rm x',
    'sudo -u ada rm x',
    'timeout 5 rm x',
    "bash -c 'rm -rf x'",
    'bash -c "cd x && rm y"',
    'bash <<EOF\nrm x\nEOF',
    "sh <<< 'rm x'",
    'if true; then rm x; fi',
    '(rm x)',
    '{ rm x; }',
    "r''m x",
    '\\rm x',
    '"rm" x',
    'rm\tx',
    'find . -name a -exec rm {} +',
    'cat <(rm x)',
    'true &rm x',
    'true\nrm x',
    'git  push origin main',
    'git push',
    'npm run x --force',
    'npm publish',
  ])('is found in %j', (command) => {
    expect(verdict(rules, command)).toBe('deny');
  });

  test.each([
    'rmdir x',
    'git rm x',
    'echo rm x',
    'ls -la # rm x',
    "echo '; rm x'",
    'npm publish --dry-run',
    "git commit -m \"$(cat <<'MESSAGE'\nDon't push (yet\nMESSAGE\n)\"",
    'cat <<EOF > notes\nrm is a program, isn’t it\nEOF',
  ])('is not found in %j', (command) => {
    expect(verdict(rules, command)).toBe('none');
  });

  test.each(['$X -rf x', 'r{m,x} y', '/bin/r? x', 'eval "$X"', "echo 'rm", 'sudo $X'])(
    'leaves a doubt in %j',
    (command) => {
      expect(verdict(rules, command)).toBe('doubt');
    },
  );

  // Most were seen to run `rm` in bash 5.2 and not to be found; the others follow from its manual.
  test.each([
    'time -p rm x',
    '<<<a rm x',
    'cat $[{ #`rm x`\n]',
    'function f { rm x; }; f',
    '"r\\\nm" x',
    'cat <<EOF\n$(rm x)\nEOF',
    'echo "$( (true); rm x)"',
    'echo `echo \\`rm x\\``',
    'echo `"\\$(rm x)"`',
    "echo `echo '` ; rm x ; echo `'`",
    "echo $'\\'' ; rm x #'",
    'echo ${x:- #} ; rm x',
    'echo a \r# ; rm x',
    "echo \\\n# '\nrm x\n#'",
    "cat <<EOF\n\tEOF\n'\nEOF\nrm x\necho '",
    "bash -c 'rm<x'",
    "eval 'r\\m' x",
    'cat <<A\n${x:-"$(rm x)"}\nA',
    `echo "\${x:-"'"}" ; rm x #'`,
    'echo $((1<<2))\nrm x\n2',
    'echo $[1<<x ]\nrm x\nx',
    'a[1<<x ]=3\nrm x\nx',
    'cat <<$(x)\n$(x)\nrm x\n$',
    'echo $(cat <<E)\nrm x\nE',
    'echo $(case x in x) rm x;; esac)',
    "bash -c '{rm,-rf,x}'",
    "sudo bash -c 'rm${IFS}x'",
  ])('is not got around by %j', (command) => {
    expect(verdict(rules, command)).toMatch(/deny|doubt/);
  });

  test('is known by its quotes behind what its agent leaves out, too', () => {
    const quoted = claude({ deny: ['Bash(python -c "*)'] });
    for (const before of ['', 'A=1 ', 'timeout 5 ']) expect(verdict(quoted, `${before}python -c "x"`)).toBe('deny');
  });

  test.each([
    'find . -name "*.ts" -not -path "./x/*"',
    'cat <<EOF > notes\n${HOME}, $((1 + 2)) and "quotes" isn’t\nEOF',
    'echo "$(git log --format="%h (%s)")" ${x:-a b}',
    'git commit -m "say \\`x\\` and (y"',
  ])('leaves no doubt in %j', (command) => {
    expect(verdict(rules, command)).toBe('none');
  });

  test('is looked for first, and leaves no doubt where there is none', () => {
    const both = claude({ ask: ['Bash'], deny: ['Bash(rm:*)'], allow: ['Bash(rm:*)'] });
    expect(verdict(both, 'rm x')).toBe('deny');
    expect(verdict(both, 'ls')).toBe('ask');
    expect(verdict(claude({ allow: ['Bash(rm:*)'], deny: ['WebFetch', 'mcp__x__y'] }), '$X')).toBe('none');
    expect(verdict(claude({ deny: ['*'] }), 'ls')).toBe('deny');
  });
});

describe('a rule of Claude Code for files', () => {
  const rules = claude({
    deny: ['Read(./.env)', 'Edit(/src/gen/**)', 'Read(~/.ssh/**)', 'Read(//etc/shadow)', 'Read(*.pem)'],
  });

  test.each([
    'cat .env',
    'cat ./.env',
    'cat /work/app/.env',
    'head -5 sub/../.env',
    'cat < .env',
    'cat .e*',
    'sed -i s/a/b/ src/gen/x.ts',
    'echo x > src/gen/a/b.ts',
    'cd src && tee gen/x',
    'cat ~/.ssh/id_ed25519',
    'cat /etc/shadow',
    'dd if=deep/down/key.pem',
    'timeout 5 cat .env',
    'sudo -u ada cat .env',
    'time -p cat .env',
    'cd src && cd gen && cat x.ts',
    'cd -P src; cat gen/x',
    'paste .env',
    'jq . .env',
  ])('is found in %j', (command) => {
    expect(verdict(rules, command)).toBe('deny');
  });

  test.each(['cat src/main.ts', 'ls src/gen', 'npm run gen', 'wc -l *.ts', 'cat environment'])(
    'is not found in %j',
    (command) => {
      expect(verdict(rules, command)).toBe('none');
    },
  );

  test.each([
    'cat "$FILE"',
    'cat {x,./.env}',
    'cat ~ada/.ssh/id',
    "cat $'.env'",
    "cat $'\\x2eenv'",
    'cd "$D" && cat x.ts',
    'cd "$(git rev-parse --show-toplevel)/src/gen" && cat x',
    'cd -; cat x.ts',
    'cd ~eve; cat x',
  ])('leaves a doubt where only the shell knows the file: %j', (command) => {
    expect(verdict(rules, command)).toBe('doubt');
  });

  test.each(['cd ~/.ssh && cat id', 'cd; cat .ssh/id', 'cd ~; cd .ssh; cat id'])('follows %j', (command) => {
    expect(verdict(rules, command)).toBe('deny');
  });

  test('is not concerned where no file is named', () => {
    expect(verdict(rules, 'cd "$D" && npm test')).toBe('none');
  });
});

test('rules of Codex are its prefixes, in every form of its reference', () => {
  const rules = rulesOf(
    'codex',
    `# decision = "forbidden" in a comment
prefix_rule(
    pattern = ["git", ["push", 'fetch'],],  # either
    decision = "forbidden",
    match = ["git push origin"],
)
prefix_rule(pattern=["gh", "pr"], decision="prompt", justification="why # not")
prefix_rule(pattern=["ls"], decision="allow")
prefix_rule(pattern=["cat"])
network_rule(host = "evil.example", protocol = "https", decision = "deny")
`,
  );
  expect(verdict(rules, 'git fetch --all')).toBe('deny');
  expect(verdict(rules, 'true && /usr/bin/git push')).toBe('deny');
  expect(verdict(rules, 'gh pr view')).toBe('ask');
  expect(verdict(rules, 'git status; ls; cat x')).toBe('none');
});

test.each([
  'BAD = "forbidden"\nprefix_rule(pattern=["rm"], decision=BAD)',
  '[prefix_rule(pattern=[x], decision="forbidden") for x in ["rm"]]',
  'prefix_rule(decision="prompt")',
  'prefix_rule(pattern=[], decision="prompt")',
  'prefix_rule(pattern = ["rm"], decision = "for" + "bidden")',
  'prefix_rule(pattern = ["rm"], decision = "forbidde\\x6e")',
  'prefix_rule(["rm"], "forbidde\\x6e")',
  'deny = prefix_rule\ndeny(pattern = ["rm"], decision = "for" + "bidden")',
])('a rule of Codex in a form that is not known is none that is passed over: %j', (text) => {
  expect(() => rulesOf('codex', text)).toThrow(expect.objectContaining({ code: 'agents.unknown_format' }));
});

test('rules of Cursor are programs, with or without their arguments', () => {
  const rules = rulesOf(
    'cursor',
    '{"permissions":{"allow":["Shell(ls)"],"deny":["Shell(rm)","Shell(curl:*)","Shell(git:push*)","Read(.env*)"]}}',
  );
  for (const denied of ['rm -rf x', 'rm', 'curl x', 'git push origin', 'cat .env.local']) {
    expect([denied, verdict(rules, denied)]).toEqual([denied, 'deny']);
  }
  expect(verdict(rules, 'git status')).toBe('none');
});

test('rules of Gemini are policies, and tools that its settings leave out', () => {
  const rules = rulesOf(
    'gemini',
    `[[rule]]
toolName = "run_shell_command"
commandPrefix = ["rm -rf", "dd"]
decision = "deny"
[[rule]]
toolName = ["write_file", "run_shell_command"]
commandPrefix = "git push"
decision = "ask_user"
[[rule]]
toolName = "run_shell_command"
decision = "ask_user"
`,
  );
  expect(verdict(rules, 'rm -rf x')).toBe('deny');
  expect(verdict(rules, 'git push')).toBe('ask');
  expect(verdict(rules, 'rm x')).toBe('none');
  const settings = rulesOf(
    'gemini',
    '{ // mine\n"tools":{"exclude":["run_shell_command(rm)","x(y)"]},"excludeTools":["ShellTool(dd)"]}',
  );
  expect(settings.map(({ text }) => text)).toEqual(['run_shell_command(rm)', 'ShellTool(dd)']);
  const expression = rulesOf(
    'gemini',
    '[[rule]]\ntoolName = "run_shell_command"\ncommandRegex = "^(a+)+$"\ndecision = "deny"',
  );
  expect(verdict(expression, 'ls')).toBe('ask');
});

test.each([
  ['claude-code', '{"permissions":{"deny":"Bash(rm:*)"}}'],
  ['claude-code', '{"permissions":{"deny":["Bash(rm:*)"]'],
  ['claude-code', '[]'],
  ['cursor', '{"permissions":{"deny":[1]}}'],
  ['gemini', '[[rule'],
])('settings of %s that cannot be read are not taken for none: %j', (client, text) => {
  expect(() => rulesOf(client, text)).toThrow(expect.objectContaining({ code: 'agents.unknown_format' }));
});

test.each([
  ['claude-code', 0, /"permissionDecision":"ask"/],
  ['gemini', 0, /"decision":"ask"/],
  // They have no such answer, and would run it.
  ['codex', 2, /^$/],
  ['cursor', 2, /^$/],
])('%s is told to ask its user, or that it may not', (client, exitCode, stdout) => {
  const { hooks } = findClient(client);
  const reply = hooks?.reply({ kind: 'run_instead', command: 'x', ask: 'May it?' }, { kind: 'other' });
  expect(reply).toMatchObject({ exitCode, stdout: expect.stringMatching(stdout) });
  expect(hooks?.canAsk).toBe(exitCode === 0);
});

test('any line is read, in a time that its length bounds', () => {
  const signs = fc.constantFrom(...'ab \t\n\'"\\$`(){}[]<>|&;#*?=-'.split(''), 'rm', '<<E', '$(');
  fc.assert(
    fc.property(fc.array(signs, { maxLength: 60 }), (parts) => {
      const { commands } = readShell(parts.join(''));
      for (const { words, files } of commands) expect(words.length + files.length).toBeGreaterThan(0);
    }),
  );
});

test.each([
  ['a long line', 'a'.repeat(30_000), 'none'],
  ['one that is too long', 'a'.repeat(40_000), 'doubt'],
  ['many words behind a starter', `sudo ${'a '.repeat(15_000)}`, 'doubt'],
  ['many documents', `${'cat <<a '.repeat(3000)}\n${'a\n'.repeat(3000)}`, 'doubt'],
  ['many steps and files', `${'cd a;'.repeat(2000)} cat ${'a '.repeat(8000)}`, 'doubt'],
  ['many commands', Array.from({ length: 3000 }, (_, at) => `a${at}`).join(';'), 'doubt'],
  ['many files of different names', `cat ${Array.from({ length: 60 }, (_, at) => `a${at}a`).join(' ')}`, 'doubt'],
  ['many brackets', '('.repeat(30_000), 'none'],
  ['many substitutions', '$('.repeat(15_000), 'doubt'],
  ['many substitutions that end', `${'$('.repeat(10_000)}${')'.repeat(10_000)}`, 'doubt'],
  ['many substitutions in quotes', '"$('.repeat(10_000), 'doubt'],
  ['many braces', '${'.repeat(15_000), 'doubt'],
  ['many braces in quotes', '"${'.repeat(10_000), 'doubt'],
  ['many processes in the place of files', '<('.repeat(10_000), 'none'],
  ['many documents in one another', '$(cat <<A\n'.repeat(3000), 'doubt'],
  ['many ticks', '`\\`\\\\`'.repeat(4000), 'doubt'],
  ['many quotes', '"'.repeat(30_001), 'doubt'],
])('SECURITY: T-39 — %s is no reason to wait', (_what, command, expected) => {
  const forms = Array.from({ length: 250 }, (_, at) => [`Bash(*a*a*a*a*b${at})`, `Read(**/a*a*a/**/x${at})`]).flat();
  const rules = claude({ deny: forms });
  expect(verdict(rules, command)).toBe(expected);
});

test.each([
  [
    'many steps',
    ['Read(./a)'],
    Array.from({ length: 6000 }, (_, at) => `a${at}`)
      .join(';')
      .slice(0, 32_000),
  ],
  ['many anythings', [`Read(${'**/'.repeat(300)}x)`], `cat ${'a/'.repeat(300)}b`],
  ['many anythings apart', [`Read(${'**/a*/'.repeat(150)}x)`], `cat ${'a/'.repeat(15_000)}b`],
  ['a long rule', [`Read(${'*a'.repeat(20_000)})`], `cat ${'a'.repeat(2000)}`],
])('SECURITY: T-39 — %s among the rules are no reason to wait', (_what, deny, command) => {
  expect(verdict(claude({ deny }), command)).toMatch(/none|doubt/);
});

test.each([
  ['claude-code', JSON.stringify({ permissions: { deny: [`a${' '.repeat(200_000)})`] } })],
  ['gemini', `{"${'\\"'.repeat(200_000)}`],
  ['gemini', `{${'/*'.repeat(200_000)}`],
  ['codex', `"${'\\"'.repeat(200_000)}`],
  ['codex', `prefix_rule(pattern = ["${'\\"'.repeat(200_000)}, decision = "prompt")`],
])('SECURITY: T-39 — settings of %s are read in a time that their length bounds', (client, text) => {
  expect(codeOfReading(client, text)).toMatch(/^(?:read|agents\.unknown_format)$/);
});

/** Quadratic in such a length, it takes longer than any test may. */
function codeOfReading(client: string, text: string): string {
  try {
    rulesOf(client, text);
    return 'read';
  } catch (error) {
    return String(Object(error).code);
  }
}
