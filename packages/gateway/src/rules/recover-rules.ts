import type { Journal } from '@palyra/journal';
import { createRuleFiles, type RuleTexts } from './rule-files.ts';
import { createRuleNotes, type RuleNote } from './rule-note.ts';

/** An answer for good that palyrad did not come to the end of, and what was done about it. */
export interface UnfinishedRule {
  /** `edited`: somebody changed the files since, so they were left as they are. */
  readonly what: 'never_written' | 'taken_back' | 'edited';
  readonly approvalId?: string;
  readonly ruleId?: string;
  readonly workspace?: string;
  readonly shown?: string;
}

export interface RecoverRulesDeps {
  readonly directory: string;
  readonly journal: Pick<Journal, 'query'>;
}

/**
 * Before the policies are first read: a rule that was written and never came into force is taken out again.
 * SECURITY: T-09 — else what nobody tested would decide after a crash, or keep the daemon from starting.
 */
export async function recoverRules({ directory, journal }: RecoverRulesDeps): Promise<readonly UnfinishedRule[]> {
  const notes = createRuleNotes(directory);
  const note = notes.read();
  if (note === undefined) return [];
  const unfinished =
    note.files === undefined ? await answered(note, journal) : await takeBack(note, directory, journal);
  await notes.remove();
  return unfinished;
}

async function answered({ at, approvalId }: RuleNote, journal: Pick<Journal, 'query'>) {
  const { entries } = await journal.query({ kinds: ['approval.decided'], since: at, limit: 1000 });
  const isDecided = entries.some(
    ({ kind, data }) => kind === 'approval.decided' && data.approval_id === approvalId && data.scope === 'always',
  );
  return isDecided && approvalId !== undefined ? [{ what: 'never_written' as const, approvalId }] : [];
}

async function takeBack(note: RuleNote, directory: string, journal: Pick<Journal, 'query'>) {
  const { at, approvalId } = note;
  const { id, workspace, shown, before, after } = note.files as NonNullable<RuleNote['files']>;
  const { entries } = await journal.query({ kinds: ['policy.activated'], since: at, limit: 1000 });
  if (entries.some(({ kind, data }) => kind === 'policy.activated' && data.rule === id)) return [];
  const files = createRuleFiles(directory);
  const found = files.read(workspace);
  const isOurs = (name: keyof RuleTexts) => found[name] === before[name] || found[name] === after[name];
  const known = { ...(approvalId === undefined ? {} : { approvalId }), ruleId: id, workspace, shown };
  if (!isOurs('policies') || !isOurs('tests')) return [{ what: 'edited' as const, ...known }];
  await files.write(workspace, before);
  return [{ what: 'taken_back' as const, ...known }];
}
