import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { alwaysHereRule, readPolicyDirectory } from '@palyra/policy';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type RecoverRulesDeps, recoverRules } from './recover-rules.ts';
import { createRuleFiles, type RuleTexts, withoutRule, withRule } from './rule-files.ts';
import { createRuleNotes } from './rule-note.ts';

const RULE = alwaysHereRule({ workspace: 'shop', effect: { kind: 'host', host: 'a.example:443' }, offer: 'always' });
const OTHER = alwaysHereRule({ workspace: 'shop', effect: { kind: 'host', host: 'b.example:443' }, offer: 'always' });
const NOTHING: RuleTexts = { policies: null, tests: null };
const APPROVAL = '01ARZ3NDEKTSV4RRFFQ69G5FAV';

let directory = '';

beforeEach(() => {
  directory = join(mkdtempSync(join(tmpdir(), 'palyra-rules-')), 'policies');
  mkdirSync(directory, { mode: 0o700 });
});
afterEach(() => rmSync(join(directory, '..'), { recursive: true }));

type Entries = readonly { readonly kind: string; readonly data: object }[];

function recover(entries: Entries = []) {
  const journal = { query: async () => ({ entries }) } as unknown as RecoverRulesDeps['journal'];
  return recoverRules({ directory, journal });
}

async function crashAt(written: RuleTexts, { before = NOTHING, after = withRule(before, RULE) } = {}) {
  const files = createRuleFiles(directory);
  await files.write('shop', written);
  const { id, reason } = RULE;
  const note = { at: 0, files: { id, workspace: 'shop', shown: reason, before, after } };
  await createRuleNotes(directory).write(note);
  return files;
}

test('without a note there is nothing to recover, and a note is told once', async () => {
  expect(await recover()).toEqual([]);
  await crashAt(withRule(NOTHING, RULE));
  expect(await recover()).toHaveLength(1);
  expect(await recover()).toEqual([]);
});

test.each<[string, RuleTexts]>([
  ['before the first file', NOTHING],
  ['between the files', { ...withRule(NOTHING, RULE), tests: null }],
  ['after both', withRule(NOTHING, RULE)],
])('killed %s, nothing is left of the rule', async (_when, written) => {
  const files = await crashAt(written);
  expect(await recover()).toEqual([{ what: 'taken_back', ruleId: RULE.id, workspace: 'shop', shown: RULE.reason }]);
  expect([files.read('shop'), readPolicyDirectory(directory).files]).toEqual([NOTHING, []]);
});

test('what was there before comes back to the byte', async () => {
  const before = withRule(NOTHING, OTHER);
  const files = await crashAt(withRule(before, RULE), { before });
  await recover();
  expect(files.read('shop')).toEqual(before);
});

test('a rule that was being taken out is there again', async () => {
  const before = withRule(NOTHING, RULE);
  const files = await crashAt({ ...before, tests: null }, { before, after: withoutRule(before, RULE.id) });
  await recover();
  expect(files.read('shop')).toEqual(before);
});

test('what is on record as in force stays', async () => {
  const files = await crashAt(withRule(NOTHING, RULE));
  expect(await recover([{ kind: 'policy.activated', data: { rule: RULE.id } }])).toEqual([]);
  expect(files.read('shop')).toEqual(withRule(NOTHING, RULE));
});

test('files that somebody edited since are left, and told', async () => {
  const written = { ...withRule(NOTHING, RULE), tests: '# mine\n' };
  const files = await crashAt(written);
  expect(await recover()).toMatchObject([{ what: 'edited', ruleId: RULE.id }]);
  expect(files.read('shop')).toEqual(written);
});

test('an answer that is on record and had no time to become a rule is told, one that is not is not', async () => {
  const answering = { at: 0, approvalId: APPROVAL };
  await createRuleNotes(directory).write(answering);
  expect(await recover()).toEqual([]);
  await createRuleNotes(directory).write(answering);
  const decided = { kind: 'approval.decided', data: { approval_id: APPROVAL, scope: 'always' } };
  expect(await recover([decided])).toEqual([{ what: 'never_written', approvalId: APPROVAL }]);
});

test.each(['../x', 'a/b', '', '.hidden', 'a+always'])('no file is named after the workspace %j', (workspace) => {
  expect(() => createRuleFiles(directory).read(workspace)).toThrow(expect.objectContaining({ code: 'gateway.fault' }));
});
