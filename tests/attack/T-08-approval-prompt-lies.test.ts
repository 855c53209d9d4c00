// T-08: what the approver is shown is not what would run: hidden, cut, reordered, look-alike, or dressed up as a fact.
import {
  type ApprovalPromptRecord,
  commandLine,
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
  return makePrompt({ approvalId, subject, question: asked, limits, ...times });
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
      policy: { set: 'p', ids: [HOSTILE], reason: HOSTILE },
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
    characters: 29,
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

test('a command too long to show says how much is missing, shows its end, and is called a high risk', () => {
  const long = `${'x'.repeat(300_000)}; rm -rf ~`;
  for (const action of [
    { kind: 'command', argv: ['sh', '-c', long] },
    { kind: 'diff', paths: ['a'], diff: long },
    { kind: 'url', method: 'GET', url: long },
    { kind: 'call', name: 'x', arguments: long },
  ] as const) {
    const { what } = promptOf({ action });
    expect(what.action.left_out).toBe(what.action.characters - 100_000);
    expect(what.action.text).toContain(`\\[${what.action.left_out} characters left out]`);
    expect(what.action.text).toMatch(/; rm -rf ~'?$/);
    expect(what.risk).toMatchObject({ level: 'high' });
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
