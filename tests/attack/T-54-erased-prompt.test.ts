// T-54: the prompt of a question was erased from the record, and its words are still on the card or guessed by its digest.
import { mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  APPROVAL_MIGRATIONS,
  type ApprovalsSchema,
  approvalPrograms,
  openApprovals,
  promptDigest,
  promptText,
} from '@palyra/approvals';
import { commitWithJournal, createApprovalRecord } from '@palyra/gateway';
import {
  JOURNAL_MIGRATIONS,
  type Journal,
  type JournalSchema,
  journalPrograms,
  openJournal,
  parseActor,
} from '@palyra/journal';
import { canonicalJson, createIdSource, type JsonValue } from '@palyra/primitives';
import { type Database, openDatabase } from '@palyra/storage';
import {
  createFakeClock,
  createFakeCredentials,
  createTemporaryHome,
  decideAsShown,
  sampleQuestion,
} from '@palyra/testkit';
import { expect, test } from 'vitest';
import { recoverLog } from '../../packages/journal/src/create-log.ts';
import { openJournalKeys } from '../../packages/journal/src/keys/journal-keys.ts';

const ids = createIdSource();
const ACTOR = parseActor('daemon:palyrad');
const SECRET = 'the patient is called Ada';
const LONG_AGO = 0;

const ANSWERS = [{ decision: 'approve', scope: 'session' }, { decision: 'deny' }] as const;

test.each(ANSWERS)('its card goes with it, whether the answer was to $decision', async (answer) => {
  await using home = await openHome();
  const { approvals, journal } = home;
  const approvalId = await home.ask(SECRET);
  const beside = await home.ask('words that stay');
  for (const id of [approvalId, beside]) await decideAsShown(approvals, id, { ...answer, by: home.ada });
  await home.erasePrompts(SECRET);
  expect(await home.filesWith(SECRET)).toEqual(['palyra.db']);

  expect(await approvals.forget(LONG_AGO)).toBe(1);
  expect(await home.filesWith(SECRET)).toEqual([]);
  await expect(approvals.get(approvalId)).rejects.toMatchObject({ code: 'approvals.not_found' });
  expect(await approvals.get(beside)).toMatchObject({ approvalId: beside });
  expect(await approvals.forget(LONG_AGO)).toBe(0);
  expect((await journal.query({ kinds: ['approval.requested'] })).entries).toHaveLength(2);
});

test('its card goes with it, too, when it was asked before the journal was recovered', async () => {
  await using home = await openHome();
  const approvalId = await home.ask(SECRET);
  await decideAsShown(home.approvals, approvalId, { decision: 'deny', by: home.ada });
  const { entries } = await home.journal.query({ kinds: ['approval.requested'] });
  await using recovered = await home.recover();
  for (const { kind, data } of entries) {
    if (kind === 'approval.requested') await recovered.journal.erase(ACTOR, data.prompt, 'operator');
  }
  expect(await recovered.approvals.forget(LONG_AGO)).toBe(1);
  expect(await home.filesWith(SECRET)).toEqual([]);
});

test('a question that is still open goes when it has ended', async () => {
  await using home = await openHome();
  const approvalId = await home.ask(SECRET);
  await home.erasePrompts(SECRET);
  expect(await home.approvals.forget(LONG_AGO)).toBe(0);
  // Nobody can say yes to it: what they would be saying yes to is not on record any more.
  const yes = { decision: 'approve', scope: 'once', by: home.ada } as const;
  expect(await decideAsShown(home.approvals, approvalId, yes)).toEqual({ kind: 'conflict', state: 'changed' });
  await decideAsShown(home.approvals, approvalId, { decision: 'deny', by: home.ada });
  expect(await home.approvals.forget(LONG_AGO)).toBe(1);
  expect(await home.filesWith(SECRET)).toEqual([]);
});

test('a grant whose prompt was erased covers nothing, and keeps nobody from being asked', async () => {
  await using home = await openHome();
  const again = sampleQuestion({ session: ids.newId('session') });
  const approvalId = await home.ask(SECRET, again.subject.session);
  await decideAsShown(home.approvals, approvalId, { decision: 'approve', scope: 'session', by: home.ada });
  expect(await home.approvals.covering(again)).toMatchObject({ kind: 'permitted' });
  await home.erasePrompts(SECRET);
  expect(await home.approvals.covering(again)).toMatchObject({ kind: 'refused', code: 'not_approved' });
});

test('who guesses the words of an erased prompt cannot tell by its digest, in the answer or the attestation, if they are right', async () => {
  await using home = await openHome();
  const question = { session: ids.newId('session'), run: ids.newId('run') };
  const asked = async (text: string) => {
    const outcome = await home.approvals.ask(sampleQuestion({ ...question, argv: [text] }));
    if (outcome.kind === 'refused') throw new Error(outcome.reason);
    return home.approvals.get(outcome.approvalId);
  };
  const erased = await asked(SECRET);
  // Everything else is known: the attacker asks the same, and puts in what the record says of the other.
  const guess = await asked(SECRET.replace('Ada', 'Bob')).then(({ prompt, subject }) =>
    canonicalJson({ ...prompt, approval_id: erased.approvalId } as unknown as JsonValue)
      .replaceAll('Bob', 'Ada')
      .replaceAll(subject, erased.subject),
  );
  const { salt, ...known } = JSON.parse(promptText(erased.prompt)) as { readonly salt?: string };
  const { salt: other, ...guessed } = JSON.parse(guess) as { readonly salt?: string };
  expect(guessed).toEqual(known);
  expect(promptDigest(guess)).not.toBe(erased.shown);
  expect([salt, other]).toEqual([expect.stringMatching(/^[0-9a-f]{64}$/), expect.stringMatching(/^[0-9a-f]{64}$/)]);
});

async function openHome() {
  const home = await createTemporaryHome();
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
  const credentials = createFakeCredentials();
  /** As palyrad does when it starts. */
  const open = async () => {
    const journal = await openJournal({ database, keyDirectory, bodyDirectory: undefined, clock });
    const approvals = await openApprovals({
      database,
      origin: journal.origin,
      verify: credentials.verify,
      clock,
      commit: commitWithJournal(journal, ACTOR),
      ...createApprovalRecord(journal),
    });
    return { journal, approvals };
  };
  const { journal, approvals } = await open();
  return {
    approvals,
    journal,
    ada: credentials.issue('ada laptop', { person: 'ada' }),
    async ask(text: string, session: string = ids.newId('session')) {
      const asked = await approvals.ask(sampleQuestion({ argv: [text], session, run: ids.newId('run') }));
      if (asked.kind === 'refused') throw new Error(asked.reason);
      return asked.approvalId;
    },
    /** As `palyra journal recover` does. */
    async recover() {
      const own = database as unknown as Database<JournalSchema>;
      await recoverLog({ database: own, keys: openJournalKeys(keyDirectory), clock, ids });
      const opened = await open();
      return { ...opened, [Symbol.asyncDispose]: async () => opened.approvals.close() };
    },
    /** As `palyra journal erase` does with each of them. */
    erasePrompts: (text: string) => erasePrompts(journal, text),
    async filesWith(text: string) {
      const names = await readdir(home.path);
      const found = await Promise.all(names.map((name) => holds(join(home.path, name), text)));
      return names.filter((_, at) => found[at]);
    },
    async [Symbol.asyncDispose]() {
      approvals.close();
      await database.close();
      await home[Symbol.asyncDispose]();
    },
  };
}

async function erasePrompts(journal: Journal, text: string): Promise<void> {
  const { entries } = await journal.query({ kinds: ['approval.requested'] });
  for (const { kind, data } of entries) {
    if (kind !== 'approval.requested') continue;
    const { bytes } = await journal.bodies.read(data.prompt);
    if (!Buffer.from(bytes).includes(text)) continue;
    for (const body of [data.prompt, data.subject]) await journal.erase(ACTOR, body, 'operator');
  }
}

async function holds(path: string, text: string): Promise<boolean> {
  const bytes = await readFile(path).catch(() => Buffer.alloc(0));
  return bytes.includes(text);
}
