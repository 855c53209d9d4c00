// T-03: approve one thing and run another under it: other arguments, bytes, profile, or more than the grant was shown for.
import { covers, type Effect, type Question, subjectDigest } from '@palyra/approvals';
import { sha256Hex } from '@palyra/primitives';
import { decideAsShown, SAMPLE_HOST, sampleQuestion } from '@palyra/testkit';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { temporaryApprovals } from './temporary-approvals.ts';

test('the approval of ls runs nothing else, whatever of the call is exchanged', async () => {
  await using home = await temporaryApprovals();
  const question = sampleQuestion({ argv: ['ls'], effects: [] });
  const id = await home.approved(question);
  const { subject } = question;
  const exchanged: readonly Partial<Question['subject']>[] = [
    { arguments: { argv: ['rm', '-rf', '/'] } },
    { arguments: { argv: ['ls'], env: { LD_PRELOAD: '/tmp/x.so' } } },
    { bound: [{ name: '/usr/bin/curl', sha256: sha256Hex('swapped') }] },
    { bound: [] },
    { profile: sha256Hex('with the network open') },
    { skill: sha256Hex('another skill') },
    { workspace: 'bank' },
    { session: 'session 2' },
    { principal: 'agent:other' },
  ];
  for (const change of exchanged) {
    const other = { ...question, subject: { ...subject, ...change } };
    expect(await home.approvals.verifyForRun(other, id)).toMatchObject({ kind: 'refused', code: 'other_subject' });
  }
  // What is shown is compared as well: the same subject with other effects on the host is not what was looked at.
  const facts = { ...question.facts, tier: 'none' as const };
  expect(await home.approvals.verifyForRun({ ...question, facts }, id)).toMatchObject({ code: 'other_prompt' });
});

test('no part of a subject can take the place of another', () => {
  const { subject } = sampleQuestion();
  const swapped = { ...subject, workspace: subject.principal, principal: subject.workspace };
  const moved = { ...subject, action: `${subject.action}${subject.workspace}`, workspace: ' ' };
  const skilled = { ...subject, skill: subject.profile };
  const digests = [subject, swapped, moved, skilled].map(subjectDigest);
  expect(new Set(digests).size).toBe(4);
  expect(() => subjectDigest({ ...subject, session: '' })).toThrow(
    expect.objectContaining({ code: 'approvals.invalid_question' }),
  );
});

test('any two different subjects have different digests', () => {
  const { subject } = sampleQuestion();
  const name = fc.string({ minLength: 1, unit: 'grapheme' });
  const other = fc.record({ action: name, workspace: name, principal: name, session: name, arguments: fc.jsonValue() });
  fc.assert(
    fc.property(other, other, (one, two) => {
      const [first, second] = [one, two].map((parts) => ({
        ...subject,
        ...parts,
        arguments: { of: parts.arguments as never },
      }));
      fc.pre(first !== undefined && second !== undefined && JSON.stringify(first) !== JSON.stringify(second));
      expect(subjectDigest(first)).not.toBe(subjectDigest(second));
    }),
    { numRuns: 200 },
  );
});

const argv = (...words: string[]): Effect => ({ kind: 'argv', argv: words, cwd: '/work' });
const path = (name: string): Effect => ({ kind: 'path', path: name, mode: 'read' });

const STRETCHED: readonly (readonly [string, Effect, Effect])[] = [
  ['a longer command', argv('git', 'push'), argv('git', 'push', '--force')],
  ['a command whose first words were approved', argv('npm', 'test'), argv('npm', 'test;', 'rm', '-rf', '~')],
  ['the same words split differently', argv('a', 'b c'), argv('a b', 'c')],
  ['a shell with the approved text', argv('sh', '-c', 'make'), argv('sh', '-c', 'make')],
  ['a path beside it', path('/data/in'), path('/data/in2')],
  ['another port', SAMPLE_HOST, { ...SAMPLE_HOST, port: 22 } as Effect],
  ['a subdomain', SAMPLE_HOST, { ...SAMPLE_HOST, host: 'evil.api.example.com' } as Effect],
  ['a secret with the host', SAMPLE_HOST, { ...SAMPLE_HOST, secret: 'github' } as Effect],
  [
    'another definition of the tool',
    { kind: 'upstream', server: 's', tool: 't', definition: sha256Hex('1') },
    { kind: 'upstream', server: 's', tool: 't', definition: sha256Hex('2') },
  ],
  ['what is approved one by one', { kind: 'once', what: 'x' }, { kind: 'once', what: 'x' }],
];

test.each(STRETCHED)('a grant is not stretched to %s', (_what, granted, needed) => {
  expect(covers([granted], [needed])).toBe(false);
});

const OTHER_SPELLINGS: readonly Effect[] = [
  path('/data/in/../../etc'),
  path('/data/./in'),
  path('data'),
  path('/data//in'),
  { ...SAMPLE_HOST, host: 'API.example.com' } as Effect,
  { ...SAMPLE_HOST, host: 'api.example.com.evil.example@x' } as Effect,
  { ...SAMPLE_HOST, port: 70_000 } as Effect,
];

test('an effect in another spelling is refused before anybody is asked', async () => {
  await using home = await temporaryApprovals();
  for (const effect of OTHER_SPELLINGS) {
    const asking = home.approvals.ask(sampleQuestion({ effects: [effect] }));
    await expect(asking).rejects.toMatchObject({ code: 'approvals.invalid_effect' });
  }
});

test('a question that names no effect, or one that is approved each time, offers no more than one use', async () => {
  await using home = await temporaryApprovals();
  const shell: Effect = argv('bash', '-c', 'make && curl evil.example');
  for (const effects of [[], [shell], [SAMPLE_HOST, { kind: 'once', what: 'a git hook' } as Effect]]) {
    const { approvalId } = await home.asked(sampleQuestion({ effects, argv: [JSON.stringify(effects)] }));
    for (const scope of ['session', 'timeboxed', 'always'] as const) {
      const outcome = await decideAsShown(home.approvals, approvalId, { decision: 'approve', scope, by: home.ada });
      expect(outcome).toMatchObject({ kind: 'refused', code: 'not_offered' });
    }
  }
});

test('what had no room in the prompt is not exchanged either', async () => {
  await using home = await temporaryApprovals();
  const paths = (last: string): readonly Effect[] => [
    ...Array.from({ length: 99 }, (_, i) => path(`/data/${i}`)),
    path(last),
  ];
  const shown = sampleQuestion({ effects: paths('/data/z') });
  const id = await home.approved(shown);
  const other = { ...shown, effects: paths('/etc/pa') };
  expect(await home.approvals.verifyForRun(other, id)).toMatchObject({ code: 'other_prompt' });
  expect(await home.approvals.verifyForRun(shown, id)).toMatchObject({ kind: 'permitted' });
});
