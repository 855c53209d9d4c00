import { randomInt } from 'node:crypto';
import { join } from 'node:path';
import type { ApprovalId } from '@palyra/primitives';
import {
  type ApprovalsHome,
  createFakeCredentials,
  createTemporaryHome,
  decideAsShown,
  openApprovalsHome,
  sampleQuestion,
  sharedPostgres,
  startApprovalsProcess,
  usePermit,
} from '@palyra/testkit';
import { expect, test } from 'vitest';

/** `npm run soak` kills 100 times under load, `npm test` a tenth of it. */
const KILLS = process.env['PALYRA_SOAK'] === '1' ? 100 : 2;
/** Starting so many processes takes its time on a busy machine. */
const PATIENCE_MS = process.env['PALYRA_SOAK'] === '1' ? 3_000_000 : 300_000;
/** One call of each way to end, and the first step of the next: killed after each step, so between any two. */
const STEPS = 14;
/** So many ways, and which of them asks for a session: as approvals-worker.ts has them. */
const WAYS = 5;
const GRANTS = 2;

type Location = Parameters<typeof openApprovalsHome>[0];

test('killed between any two steps, and under load, every call is resumed and runs once', {
  timeout: PATIENCE_MS,
}, async () => {
  await using directory = await createTemporaryHome();
  await expectResumedAfterKills({ kind: 'sqlite', path: join(directory.path, 'palyra.db') }, KILLS);
});

test('on PostgreSQL the same holds', { timeout: PATIENCE_MS }, async () => {
  const { url, drop } = await sharedPostgres().createDatabase();
  await expectResumedAfterKills({ kind: 'postgres', url, poolSize: 8 }, Math.ceil(KILLS / 5));
  await drop();
});

async function expectResumedAfterKills(location: Location, kills: number): Promise<void> {
  for (let steps = 1; steps <= STEPS; steps += 1) {
    await killAfter({ location, label: `step${steps}`, lanes: 1, steps });
  }
  for (let kill = 0; kill < kills; kill += 1) {
    await killAfter({ location, label: `load${kill}`, lanes: 4, steps: randomInt(1, 120) });
  }
}

interface Killing {
  readonly location: Location;
  readonly label: string;
  readonly lanes: number;
  readonly steps: number;
}

async function killAfter({ location, label, lanes, steps }: Killing): Promise<void> {
  const child = startApprovalsProcess({ location, label, lanes, count: 100_000 });
  await child.untilAcknowledged(steps);
  await child.kill();
  const credentials = createFakeCredentials();
  credentials.issue('ada laptop', { person: 'ada', device: 'laptop' });
  await using home = await openApprovalsHome(location, { credentials, limits: { questionsPerWindow: 1_000_000 } });
  await expectKept(home, child.acknowledged);
  await expectWhole(home);
  await resumeAll(home, label);
  await expectOneIntentEach(home);
}

/** Whatever was acknowledged is there. */
async function expectKept({ database }: ApprovalsHome, acknowledged: readonly string[]): Promise<void> {
  const rows = await database.read.selectFrom('approvals').select(['id', 'state', 'used_by']).execute();
  const kept = new Map(rows.map((row) => [row.id, row]));
  const grants = await database.read.selectFrom('approval_grants').select(['approval_id', 'state']).execute();
  const stateOfGrant = new Map(grants.map(({ approval_id, state }) => [approval_id, state]));
  for (const line of acknowledged) {
    const [step = '', id = '', ...key] = line.split(' ');
    const row = kept.get(id);
    expect(row).toBeDefined();
    if (['approved', 'denied', 'cancelled', 'expired'].includes(step)) expect(row?.state).toBe(step);
    if (step === 'used') expect(row).toMatchObject({ state: 'approved', used_by: key.join(' ') });
    if (step === 'granted') expect([row?.state, stateOfGrant.has(id)]).toEqual(['approved', true]);
    if (step === 'revoked') expect(stateOfGrant.get(id)).toBe('revoked');
  }
}

/** Each act is there with all that belongs to it, or not at all, acknowledged or not. */
async function expectWhole({ database }: ApprovalsHome): Promise<void> {
  const { read } = database;
  const cards = await read.selectFrom('approvals').selectAll().execute();
  const grants = await read.selectFrom('approval_grants').selectAll().execute();
  const votes = await read.selectFrom('approval_votes').select('approval_id').execute();
  const askers = await read.selectFrom('approval_askers').select('approval_id').execute();
  const spent = await read.selectFrom('spent').select('id').execute();

  const ids = (wanted: readonly (typeof cards)[number][]) => wanted.map(({ id }) => id).toSorted();
  const answered = cards.filter(({ state, via_grant }) => via_grant === null && /approved|denied/.test(state));
  expect(votes.map(({ approval_id }) => approval_id).toSorted()).toEqual(ids(answered));
  const standing = answered.filter(({ scope }) => scope === 'session');
  expect(grants.map(({ approval_id }) => approval_id).toSorted()).toEqual(ids(standing));
  // A yes for a session lets go one other card, in the same unit.
  const released = cards.flatMap(({ via_grant }) => via_grant ?? []);
  expect(released.toSorted()).toEqual(grants.map(({ id }) => id).toSorted());
  const waiting = new Set(askers.map(({ approval_id }) => approval_id));
  expect(cards.filter(({ id, state }) => state === 'pending' && !waiting.has(id))).toEqual([]);
  expect(cards.filter(({ id, state }) => state === 'cancelled' && waiting.has(id))).toEqual([]);
  const revoked = new Set(grants.flatMap(({ state, approval_id }) => (state === 'revoked' ? [approval_id] : [])));
  const over = cards.filter(
    ({ id, state, used_at }) => /denied|cancelled|expired/.test(state) || used_at !== null || revoked.has(id),
  );
  expect(spent.map(({ id }) => id).toSorted()).toEqual(ids(over));
}

/** As the clients do that were cut off: the same key finds the same question, with its answer if there is one. */
async function resumeAll(home: ApprovalsHome, label: string): Promise<void> {
  const { database, approvals, credentials } = home;
  const ada = credentials.issue('ada laptop', { person: 'ada', device: 'laptop' });
  const open = await database.read
    .selectFrom('approvals')
    .innerJoin('approval_askers', 'approval_askers.approval_id', 'approvals.id')
    .select(['approvals.id', 'approvals.state', 'approval_askers.key', 'approval_askers.principal'])
    .where('used_at', 'is', null)
    .where('expires_at', '>', Date.now())
    .where(({ or, and, eb }) =>
      or([eb('state', '=', 'pending'), and([eb('state', '=', 'approved'), eb('scope', '=', 'once')])]),
    )
    .execute();
  expect(open.every(({ principal }) => principal.startsWith(`agent:${label} `))).toBe(true);
  for (const { id, state, key, principal } of open) {
    const call = key.slice(principal.length + 1);
    // The one that asks for a session waits in a session of its own; whoever wanted it is gone.
    if (Number.parseInt(call, 10) % WAYS === GRANTS) {
      await approvals.cancel({ principal, key });
      continue;
    }
    const question = sampleQuestion({ key, principal, argv: [call] });
    const asked = await approvals.ask(question);
    expect(asked).toMatchObject({ kind: 'asked', approvalId: id, how: 'resumed' });
    if (state === 'pending') {
      await decideAsShown(approvals, id as ApprovalId, { decision: 'approve', scope: 'once', by: ada });
    }
    const permit = await approvals.verifyForRun(question, id as ApprovalId);
    if (permit.kind === 'refused') throw new Error(permit.reason);
    expect(await usePermit(home, permit, key)).toBe(true);
  }
}

/** Used and begun are one step: never one without the other, never twice. */
async function expectOneIntentEach({ database }: ApprovalsHome): Promise<void> {
  const used = await database.read
    .selectFrom('approvals')
    .select(['id', 'used_by'])
    .where('used_at', 'is not', null)
    .execute();
  const intents = await database.read.selectFrom('intents').select(['approval_id', 'key']).execute();
  const inOrder = (pairs: readonly (readonly [string, string | null])[]) =>
    pairs.map((pair) => pair.join(' ')).toSorted();
  expect(inOrder(intents.map(({ approval_id, key }) => [approval_id, key]))).toEqual(
    inOrder(used.map(({ id, used_by }) => [id, used_by])),
  );
  expect(new Set(intents.map(({ approval_id }) => approval_id)).size).toBe(intents.length);
}
