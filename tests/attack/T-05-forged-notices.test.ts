// T-05: on PostgreSQL every login may send notices: one made up spends nothing, and a flood of them revives nothing.
import {
  type ApprovalsHome,
  createFakeCredentials,
  decideAsShown,
  openApprovalsHome,
  type PrivatePostgres,
  requirePermit,
  sampleQuestion,
  startPrivatePostgres,
  usePermit,
} from '@palyra/testkit';
import pg from 'pg';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';

let cluster: PrivatePostgres;
beforeAll(async () => {
  cluster = await startPrivatePostgres();
});
afterAll(() => cluster.stop());

const CREDENTIALS = createFakeCredentials();
const ADA = CREDENTIALS.issue('ada laptop', { person: 'ada' });

interface Attacked extends AsyncDisposable {
  readonly home: ApprovalsHome;
  /** Somebody with a login and no right to any table. */
  readonly stranger: pg.Client;
  /** Somebody who can write the tables. */
  readonly writer: pg.Client;
  /** Resolves when all notices before it were heard. */
  heardAll(): Promise<void>;
}

/** The record of this home knows of nothing, so that only what the process itself knows holds. */
async function attackedHome(): Promise<Attacked> {
  const { url, drop } = await cluster.createDatabase();
  const location = { kind: 'postgres', url, poolSize: 4 } as const;
  const home = await openApprovalsHome(location, { credentials: CREDENTIALS, isSpent: async () => false });
  const writer = new pg.Client({ connectionString: url });
  await writer.connect();
  await writer.query('drop role if exists stranger');
  await writer.query('create role stranger login');
  const stranger = new pg.Client({ connectionString: url.replace('postgres@', 'stranger@') });
  await stranger.connect();
  const heard: string[] = [];
  const watching = await home.approvals.watch((event) => heard.push(event.kind === 'gap' ? 'gap' : event.id));
  return {
    home,
    stranger,
    writer,
    async heardAll() {
      const asked = await home.approvals.ask(
        sampleQuestion({ argv: ['heard?'], effects: [], principal: 'agent:other' }),
      );
      if (asked.kind === 'refused') throw new Error(asked.reason);
      await vi.waitFor(() => expect(heard).toContain(asked.approvalId), { timeout: 30_000 });
      await home.approvals.cancel(asked);
    },
    async [Symbol.asyncDispose]() {
      watching.close();
      await stranger.end();
      await writer.end();
      await home[Symbol.asyncDispose]();
      await drop();
    },
  };
}

async function approved({ approvals }: ApprovalsHome, argv: string, scope: 'once' | 'session') {
  const question = sampleQuestion({ argv: [argv] });
  const asked = await approvals.ask(question);
  if (asked.kind === 'refused') throw new Error(asked.reason);
  await decideAsShown(approvals, asked.approvalId, { decision: 'approve', scope, by: ADA });
  return { question, approvalId: asked.approvalId };
}

test('a notice that somebody made up takes no approval and no grant away', async () => {
  await using attacked = await attackedHome();
  const { home, stranger } = attacked;
  await expect(stranger.query('select * from approvals')).rejects.toThrow('permission denied');
  const once = await approved(home, 'once', 'once');
  const standing = await approved(home, 'standing', 'session');
  const [grant] = await home.approvals.grants({});
  for (const id of [once.approvalId, standing.approvalId, grant?.grantId]) {
    const notice = JSON.stringify({ channel: 'approvals.spent', payload: id });
    await stranger.query(`select pg_notify('palyra', $1)`, [notice]);
  }
  await attacked.heardAll();
  const { question, approvalId } = once;
  expect(await home.approvals.verifyForRun(question, approvalId)).toMatchObject({ kind: 'permitted' });
  expect(await home.approvals.covering(sampleQuestion({ argv: ['x'] }))).toMatchObject({ kind: 'permitted' });
});

test('nor does a flood of them push out what was used', async () => {
  await using attacked = await attackedHome();
  const { home, stranger, writer } = attacked;
  const { question, approvalId } = await approved(home, 'once', 'once');
  const permit = requirePermit(await home.approvals.verifyForRun(question, approvalId));
  expect(await usePermit(home, permit)).toBe(true);
  await attacked.heardAll();
  // The notice comes after the commit: until this process has read it, the row that is set back can be used, and is told again.
  await vi.waitFor(async () => {
    await writer.query('update approvals set used_at = null, used_by = null where id = $1', [approvalId]);
    const again = await home.approvals.verifyForRun(question, approvalId);
    if (again.kind === 'permitted') await usePermit(home, again);
    expect(again).toMatchObject({ code: 'already_used' });
  });
  const flood = (payload: string) =>
    stranger.query(
      `select count(pg_notify('palyra', json_build_object('channel', 'approvals.spent', 'payload', ${payload})::text))
       from generate_series(1, 100001) n`,
    );
  await flood(`'x' || n`);
  await flood(`'01J' || lpad(n::text, 23, '0')`);
  await attacked.heardAll();
  expect(await home.approvals.verifyForRun(question, approvalId)).toMatchObject({ code: 'already_used' });
});

test('what was revoked while no notice came through is not missed', async () => {
  const { url, drop } = await cluster.createDatabase();
  const writer = new pg.Client({ connectionString: url });
  await writer.connect();
  await writer.query('create role cut_off login superuser');
  const options = { credentials: CREDENTIALS, isSpent: async () => false };
  const near = await openApprovalsHome({ kind: 'postgres', url, poolSize: 4 }, options);
  const farUrl = url.replace('postgres@', 'cut_off@');
  // One connection, so that what is read is read one after the other.
  const far = await openApprovalsHome({ kind: 'postgres', url: farUrl, poolSize: 1 }, options);
  const heard: string[] = [];
  const watching = await far.approvals.watch(({ kind }) => heard.push(kind));
  await approved(near, 'standing', 'session');
  const [grant] = await near.approvals.grants({});
  if (grant === undefined) throw new Error('There is no grant.');

  await writer.query('alter role cut_off nologin');
  await writer.query(
    `select pg_terminate_backend(pid) from pg_stat_activity where usename = 'cut_off' and query like 'listen %'`,
  );
  await near.approvals.revoke({ grantId: grant.grantId, by: 'ada' });
  await writer.query('alter role cut_off login');
  await vi.waitFor(() => expect(heard).toContain('gap'), { timeout: 30_000 });
  // What it reads because of the gap is read by then.
  for (let i = 0; i < 3; i += 1) await far.approvals.grants({});
  await writer.query(`update approval_grants set state = 'live', ended_at = null`);
  expect(await far.approvals.covering(sampleQuestion({ argv: ['x'] }))).toMatchObject({ kind: 'refused' });

  watching.close();
  await writer.end();
  for (const home of [near, far]) await home[Symbol.asyncDispose]();
  await drop();
});
