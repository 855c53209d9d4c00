import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import {
  APPROVAL_MIGRATIONS,
  type ApprovalEvent,
  type ApprovalsDeps,
  type ApprovalsSchema,
  approvalPrograms,
  type CommitWithRecord,
  openApprovals,
  promptDigest,
  signedBytes,
} from '@palyra/approvals';
import {
  type CallerDraft,
  JOURNAL_MIGRATIONS,
  type Journal,
  type JournalSchema,
  journalPrograms,
  openJournal,
  parseActor,
} from '@palyra/journal';
import type { ApprovalId } from '@palyra/primitives';
import { openDatabase } from '@palyra/storage';
import {
  createFakeClock,
  createFakeCredentials,
  createSampleCalls,
  createTemporaryHome,
  decideAsShown,
  draftAsShown,
  requirePermit,
  SAMPLE_SNAPSHOT,
  sampleQuestion,
} from '@palyra/testkit';
import { expect, test } from 'vitest';

const ACTOR = parseActor('daemon:palyrad');

test('questions, answers, grants and uses share their commits with the journal, or do not happen', async () => {
  await using home = await createTemporaryHome();
  const keyDirectory = join(home.path, 'identity');
  await mkdir(keyDirectory, { mode: 0o700 });
  const database = await openDatabase<JournalSchema & ApprovalsSchema>({
    location: { kind: 'sqlite', path: join(home.path, 'palyra.db') },
    migrations: [...JOURNAL_MIGRATIONS, ...APPROVAL_MIGRATIONS],
    programs: [...journalPrograms(keyDirectory), ...approvalPrograms()],
    lockTimeoutMs: 5_000,
    logger: { error: () => undefined },
  });
  const clock = createFakeClock();
  const journal = await openJournal({ database, keyDirectory, bodyDirectory: undefined, clock });
  const credentials = createFakeCredentials();
  const ada = credentials.issue('ada laptop', { person: 'ada' });
  const { verify } = credentials;
  const approvals = await openApprovals({
    database,
    origin: journal.origin,
    verify,
    clock,
    commit: recordedBy(journal),
    isSpent: spentIn(journal),
    wasAsked: askedIn(journal),
  });

  const question = sampleQuestion();
  const asked = await approvals.ask(question);
  await approvals.ask({ ...question, key: 'another that waits' });
  if (asked.kind === 'refused') throw new Error(asked.reason);
  await decideAsShown(approvals, asked.approvalId, { decision: 'approve', scope: 'session', by: ada });
  const late = await decideAsShown(approvals, asked.approvalId, { decision: 'deny', by: ada });
  expect(late).toEqual({ kind: 'conflict', state: 'approved' });

  const permit = requirePermit(await approvals.verifyForRun(question, asked.approvalId));
  const intent = await intentDraft(journal);
  const { steps, notifications } = permit;
  const drafts = [intent, ...(await allDraftsOf(permit.events, journal))];
  expect(await journal.append(ACTOR, drafts, { steps, notifications })).toMatchObject({ kind: 'appended' });
  const [grantId] = permit.grantIds;
  if (grantId !== undefined) await approvals.revoke({ grantId, by: 'ada' });
  // Taken back: then there is no intent either.
  expect(await journal.append(ACTOR, drafts, { steps, notifications })).toMatchObject({ kind: 'conflict', step: 0 });

  const { entries } = await journal.query({ limit: 100 });
  expect(entries.map(({ kind }) => kind).filter((kind) => /approval|grant|intent/.test(kind))).toEqual([
    'approval.requested',
    'approval.decided',
    'grant',
    'intent',
    'grant',
    'grant',
  ]);
  approvals.close();
  await database.close();
});

test('what the journal has as used, revoked or denied stays so, also when its row is set back while nobody runs', async () => {
  await using home = await createTemporaryHome();
  const keyDirectory = join(home.path, 'identity');
  await mkdir(keyDirectory, { mode: 0o700 });
  const credentials = createFakeCredentials();
  const ada = credentials.issue('ada laptop', { person: 'ada' });
  const clock = createFakeClock();
  const [once, standing] = [sampleQuestion({ argv: ['once'] }), sampleQuestion({ argv: ['standing'] })];
  const denied = sampleQuestion({ argv: ['denied'], effects: [] });
  const open = async () => {
    const database = await openDatabase<JournalSchema & ApprovalsSchema>({
      location: { kind: 'sqlite', path: join(home.path, 'palyra.db') },
      migrations: [...JOURNAL_MIGRATIONS, ...APPROVAL_MIGRATIONS],
      programs: [...journalPrograms(keyDirectory), ...approvalPrograms()],
      lockTimeoutMs: 5_000,
      logger: { error: () => undefined },
    });
    const journal = await openJournal({ database, keyDirectory, bodyDirectory: undefined, clock });
    const record = { commit: recordedBy(journal), isSpent: spentIn(journal), wasAsked: askedIn(journal) };
    const { verify } = credentials;
    const approvals = await openApprovals({ database, origin: journal.origin, verify, clock, ...record });
    return { database, journal, approvals };
  };

  const before = await open();
  const ids: ApprovalId[] = [];
  for (const [question, scope] of [
    [once, 'once'],
    [standing, 'session'],
  ] as const) {
    const asked = await before.approvals.ask(question);
    if (asked.kind === 'refused') throw new Error(asked.reason);
    ids.push(asked.approvalId);
    await decideAsShown(before.approvals, asked.approvalId, { decision: 'approve', scope, by: ada });
    const { steps, notifications, events, grantIds } = requirePermit(
      await before.approvals.verifyForRun(question, asked.approvalId),
    );
    const drafts = [await intentDraft(before.journal), ...(await allDraftsOf(events, before.journal))];
    await before.journal.append(ACTOR, drafts, { steps, notifications });
    for (const grantId of grantIds) await before.approvals.revoke({ grantId, by: 'ada' });
  }
  const no = await before.approvals.ask(denied);
  if (no.kind === 'refused') throw new Error(no.reason);
  const yes = { decision: 'approve', scope: 'once', by: ada } as const;
  const late = await draftAsShown(before.approvals, no.approvalId, yes);
  await decideAsShown(before.approvals, no.approvalId, { decision: 'deny', by: ada });
  before.approvals.close();
  await before.database.close();
  const file = new DatabaseSync(join(home.path, 'palyra.db'), { timeout: 5_000 });
  file.exec(`update approvals set used_at = null, used_by = null`);
  // Under another id, too; and a yes that came too late takes the place of the no.
  file.exec(`update approval_grants set state = 'live', ended_at = null, id = '01J00000000000000000000000'`);
  file.exec(`update approvals set state = 'approved', scope = 'once', votes = 1 where state = 'denied'`);
  const put = file.prepare('update approval_votes set statement = ?, signature = ? where approval_id = ?');
  put.run(late, await ada.sign(signedBytes(late)), no.approvalId);
  file.close();

  const after = await open();
  const [usedId, revokedId] = ids as [ApprovalId, ApprovalId];
  expect(await after.approvals.verifyForRun(once, usedId)).toMatchObject({ code: 'already_used' });
  expect(await after.approvals.verifyForRun(standing, revokedId)).toMatchObject({ code: 'revoked' });
  expect(await after.approvals.covering(standing)).toMatchObject({ kind: 'refused' });
  expect(await after.approvals.verifyForRun(denied, no.approvalId)).toMatchObject({ kind: 'refused' });
  after.approvals.close();
  await after.database.close();
});

/** What compose.ts will pass in: the journal's entries and the change of the tables are one unit. */
function recordedBy(journal: Journal): CommitWithRecord {
  return async ({ steps, notifications = [] }, events) => {
    const outcome = await journal.append(ACTOR, await allDraftsOf(events, journal), { steps, notifications });
    return { kind: outcome.kind === 'appended' ? 'committed' : 'conflict' };
  };
}

async function allDraftsOf(events: readonly ApprovalEvent[], journal: Journal): Promise<readonly CallerDraft[]> {
  return (await Promise.all(events.map((event) => draftsOf(event, journal)))).flat();
}

/** A yes for one use is recorded as a grant of itself: the journal has no other entry for a use. */
function spentIn(journal: Journal): ApprovalsDeps['isSpent'] {
  return async (id) => {
    const { entries } = await journal.query({ kinds: ['grant', 'approval.decided'], limit: 1_000 });
    return entries.some(({ kind, data }) => {
      const { approval_id, change, scope, outcome } = data as Readonly<Record<string, unknown>>;
      if (approval_id !== id) return false;
      if (kind === 'approval.decided') return outcome !== 'approved';
      return change === 'revoked' || (change === 'used' && scope === 'once');
    });
  };
}

/** The prompt is a body of the entry, so its bytes are committed to by the signed record. */
function askedIn(journal: Journal): ApprovalsDeps['wasAsked'] {
  return async (id, shown) => {
    const { entries } = await journal.query({ kinds: ['approval.requested'], limit: 1_000 });
    for (const { data } of entries) {
      const { approval_id, prompt } = data as Readonly<Record<string, string>>;
      if (approval_id !== id || prompt === undefined) continue;
      return promptDigest(Buffer.from((await journal.bodies.read(prompt)).bytes).toString()) === shown;
    }
    return false;
  };
}

async function draftsOf(event: ApprovalEvent, { bodies }: Journal): Promise<readonly CallerDraft[]> {
  switch (event.kind) {
    case 'requested': {
      const { approvalId: approval_id, principal, expiresAt: expires_at } = event;
      const [subject, prompt] = [await bodies.prepare(event.subject), await bodies.prepare(event.prompt)];
      return [{ kind: 'approval.requested', data: { approval_id, principal, subject, prompt, expires_at } }];
    }
    case 'decided': {
      const { approvalId: approval_id, principal, outcome, scope } = event;
      const statement = await bodies.prepare(event.statement?.text ?? '-');
      return [
        {
          kind: 'approval.decided',
          data: { approval_id, principal, outcome, statement, ...(scope === undefined ? {} : { scope }) },
        },
      ];
    }
    case 'grant': {
      const { grantId: grant_id, approvalId: approval_id, principal, change, expiresAt: expires_at } = event;
      return [{ kind: 'grant', data: { grant_id, approval_id, principal, change, expires_at } }];
    }
    case 'used': {
      const { approvalId: approval_id, principal } = event;
      return [
        { kind: 'grant', data: { grant_id: approval_id, approval_id, principal, change: 'used', scope: 'once' } },
      ];
    }
    case 'voted':
      return [];
  }
}

async function intentDraft(journal: Journal): Promise<CallerDraft> {
  const policy_snapshot = await journal.putSnapshot(SAMPLE_SNAPSHOT);
  return {
    kind: 'intent',
    data: { ...createSampleCalls().call(), executor: 'sandbox_tier_c_linux_bubblewrap', policy_snapshot },
  };
}
