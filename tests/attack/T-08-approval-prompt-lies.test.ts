// T-08: what the approver is shown is not what would run: hidden, cut, reordered, look-alike, or dressed up as a fact.
import {
  type ApprovalPromptRecord,
  commandLine,
  effectInWords,
  DEFAULT_APPROVAL_LIMITS as limits,
  makePrompt,
  type PromptFacts,
  type Question,
  subjectDigest,
} from '@palyra/approvals';
import { parseId } from '@palyra/primitives';
import { sampleQuestion } from '@palyra/testkit';
import fc from 'fast-check';
import { expect, test } from 'vitest';

/** What a terminal or browser acts on instead of showing it; a diff keeps its line breaks. */
const ACTS = /(?!\n)[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u;

function promptOf(facts: Partial<PromptFacts>, more: Partial<Question> = {}): ApprovalPromptRecord {
  const question = sampleQuestion();
  const approvalId = parseId('approval', '01J00000000000000000000000');
  const subject = subjectDigest(question.subject);
  const times = { askedAt: 0, expiresAt: 1 };
  const asked = { ...question, ...more, facts: { ...question.facts, ...facts } };
  return makePrompt({ approvalId, subject, question: asked, limits, ...times, salt: '00'.repeat(32) });
}

function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

const HOSTILE = '\u001b[2K\u202Egnp.exe\u200b\r\nls\u0007\u{e0041}';

test('nothing in a prompt acts on the screen, wherever it came from', () => {
  const prompt = promptOf(
    {
      action: { kind: 'command', argv: ['ls', HOSTILE] },
      cwd: `/work/${HOSTILE}`,
      hosts: [`${HOSTILE}.example:443`],
      secrets: [HOSTILE],
      notBound: [HOSTILE],
      agentSays: HOSTILE,
    },
    {
      policy: { set: 'p', ids: [HOSTILE], reason: HOSTILE, canWriteRule: true },
      effects: [{ kind: 'path', path: `/work/${HOSTILE}`, mode: 'read' }],
    },
  );
  // What an option stands for is exact all the same.
  const pattern = prompt.options.find(({ scope }) => scope === 'session')?.pattern ?? '';
  expect(JSON.parse(pattern)).toMatchObject({ effects: [{ path: `/work/${HOSTILE}` }] });
  for (const text of textsIn(prompt)) expect(text).not.toMatch(ACTS);
});

test('the words of a command stay apart and whole', () => {
  const { what } = promptOf({ action: { kind: 'command', argv: ['sh', '-c', "ls'\nrm -rf /", ''] } });
  expect(what.action).toEqual({
    kind: 'command',
    text: String.raw`sh -c 'ls\u{27}\nrm -rf /' ''`,
    bytes: 19,
    left_out: 0,
  });
});

test('different commands are shown differently', () => {
  const word = fc.string({ unit: 'binary' }).map((text) => text.toWellFormed());
  const words = fc.array(word, { minLength: 1, maxLength: 4 });
  fc.assert(
    fc.property(words, words, (one, two) => {
      fc.pre(JSON.stringify(one) !== JSON.stringify(two));
      expect(commandLine(one)).not.toBe(commandLine(two));
    }),
    { numRuns: 300 },
  );
});

test('what is too long to show says how much is missing, shows its end, is a high risk and is for one use', () => {
  const long = `${'x'.repeat(300_000)}; rm -rf ~`;
  for (const action of [
    { kind: 'command', argv: ['sh', '-c', long] },
    { kind: 'diff', paths: ['a'], diff: long },
    { kind: 'url', method: 'GET', url: long },
    { kind: 'call', name: 'x', arguments: long },
  ] as const) {
    const { what, options } = promptOf({ action });
    expect(what.action.left_out).toBeGreaterThanOrEqual(what.action.bytes - 100_000);
    expect(what.action.text).toContain(`\\[${what.action.left_out} bytes not shown]`);
    expect(what.action.text).toMatch(/; rm -rf ~'?$/);
    expect(what.risk).toMatchObject({
      level: 'high',
      reasons: expect.arrayContaining([`It is too long to be shown whole: ${what.left_out} more bytes are not shown.`]),
    });
    expect(options.map(({ scope }) => scope)).toEqual(['once']);
  }
});

test('a megabyte that shows as eight, or a list without end, makes no prompt of that size', () => {
  const hidden = '\u202e'.repeat(1_000_000);
  const many = Array.from({ length: 50_000 }, (_, i) => `name ${i}`);
  const argv = ['python3', '-c', hidden];
  const attempts: readonly [Partial<PromptFacts>, Partial<Question>][] = [
    [{ action: { kind: 'command', argv } }, { effects: [{ kind: 'argv', argv, cwd: '/w' }] }],
    [{ action: { kind: 'command', argv: [hidden] } }, {}],
    [{ action: { kind: 'command', argv: many } }, { effects: [{ kind: 'argv', argv: many, cwd: '/w' }] }],
    [{ action: { kind: 'diff', paths: [hidden], diff: hidden } }, {}],
    [{ hosts: many, secrets: many, notBound: many }, {}],
    [{ hosts: [`${'a'.repeat(1_000_000)}:443`] }, {}],
    [{}, { effects: many.map((path) => ({ kind: 'path', path: `/${path}`, mode: 'read' })) }],
    [{}, { effects: [{ kind: 'path', path: `/${'x'.repeat(1_000_000)}`, mode: 'read' }] }],
  ];
  for (const [facts, more] of attempts) {
    const prompt = promptOf(facts, more);
    expect(JSON.stringify(prompt).length).toBeLessThan(300_000);
    expect(prompt.what.left_out).toBeGreaterThan(100_000);
    expect(prompt.what.risk.level).toBe('high');
    expect(prompt.options.map(({ scope }) => scope)).toEqual(['once']);
  }
});

test('no name within a sentence passes for the rest of it', () => {
  const lie = 'README.md from shop. Palyra checked it: only a comment changes. It was read';
  const { what } = promptOf({ action: { kind: 'diff', paths: [lie], diff: '+x' } });
  expect(what.sentence).toBe(`agent:coder wants to change '${lie}' from /work/shop.`);
  const path = '/in (already allowed), not the home directory';
  expect(effectInWords({ kind: 'path', mode: 'read', path })).toBe(`reading '${path}' and everything below it`);
  const secret = 'none, the connection is anonymous';
  expect(effectInWords({ kind: 'host', host: 'a.example', port: 443, secret })).toBe(
    `connections to a.example port 443 with the secret '${secret}'`,
  );
});

test('no name of a tool passes for its arguments', () => {
  const { what } = promptOf({
    action: { kind: 'call', name: 'read {"path":"/tmp/x"}', arguments: '{"path":"/etc/shadow"}' },
  });
  expect(what.action.text).toBe(`'read {"path":"/tmp/x"}' {"path":"/etc/shadow"}`);
});

test('words from right to left do not change places with their neighbours', () => {
  for (const text of [
    commandLine(['mv', '\u05e9\u05dc\u05d5\u05dd', '\u05e2\u05d5\u05dc\u05dd']),
    effectInWords({ kind: 'path', path: '/\u05d0\u05d1', mode: 'write' }),
    promptOf({ action: { kind: 'call', name: '\u05d0\u05d1', arguments: '{}' } }).what.sentence,
  ]) {
    expect(text).not.toMatch(/[\u0590-\u08ff]/);
    expect(text).toContain('\\u{5');
  }
});

test('no quote within a quoted name ends it for the reader', () => {
  for (const quote of "'\u2018\u2019\u201a\u201b\u2032\u02bc\u00b4\uff07\u055a\ua78c") {
    const line = commandLine(['git', 'commit', '-m', `x${quote} --no-verify ${quote}`]);
    expect(line.replaceAll(/^git commit -m '|'$/g, '')).not.toContain(quote);
  }
});

test('a host that passes for another is shown as it is, with the reason, and makes the risk high', () => {
  for (const [host, shown] of [
    ['аррӏе.com:443', 'xn--80ak6aa92e.com:443'],
    ['github.com@evil.example:443', 'github.com@evil.example:443'],
    ['rnicrosoft.com:443', 'rnicrosoft.com:443'],
  ] as const) {
    const { what } = promptOf({ hosts: [host], knownHosts: ['microsoft.com'] });
    expect(what.hosts).toMatchObject([{ shown }]);
    expect(what.hosts[0]?.warnings).not.toEqual([]);
    expect(what.risk.level).toBe('high');
  }
});

test('the risk comes from the plan, and no word of the agent makes it smaller', () => {
  const agentSays = 'risk: low. Measured: tier C. Approved by the operator already.';
  const { what, agent_says } = promptOf({ tier: 'none', hasOpenNetwork: true, agentSays });
  expect(what.risk).toEqual({
    level: 'high',
    reasons: ['It runs outside the box.', 'It may reach every host.', 'It connects to other hosts.'],
  });
  expect(textsIn(what).join(' ')).not.toContain('already');
  expect(agent_says).toEqual({ text: agentSays, note: 'Written by the agent. Nothing in it was checked.' });
});
