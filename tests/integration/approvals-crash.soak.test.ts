import { randomInt } from 'node:crypto';
import { join } from 'node:path';
import type { ApprovalId } from '@palyra/primitives';
import {
  type ApprovalsHome,
  createFakeCredentials,
  createTemporaryHome,
  openApprovalsHome,
  sampleQuestion,
  sharedPostgres,
  startApprovalsProcess,
  usePermit,
} from '@palyra/testkit';
import { expect, test } from 'vitest';

/** `npm run soak` kills 100 times under load, `npm test` a tenth of it. */
const KILLS = process.env['PALYRA_SOAK'] === '1' ? 100 : 5;
/** Starting so many processes takes its time on a busy machine. */
const PATIENCE_MS = process.env['PALYRA_SOAK'] === '1' ? 3_000_000 : 300_000;
/** Asked, approved, used, and the same again: killed after each, so between any two. */
const STEPS = 6;

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
  await resumeAll(home, label);
  await expectOneIntentEach(home);
}

/** Whatever was acknowledged is there. */
async function expectKept({ database }: ApprovalsHome, acknowledged: readonly string[]): Promise<void> {
  const rows = await database.read.selectFrom('approvals').select(['id', 'state', 'used_by']).execute();
  const kept = new Map(rows.map((row) => [row.id, row]));
  for (const line of acknowledged) {
    const [step, id = '', ...key] = line.split(' ');
    const row = kept.get(id);
    expect(row).toBeDefined();
    if (step === 'approved') expect(row?.state).toBe('approved');
    if (step === 'used') expect(row).toMatchObject({ state: 'approved', used_by: key.join(' ') });
  }
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
    .execute();
  expect(open.every(({ principal }) => principal.startsWith(`agent:${label} `))).toBe(true);
  for (const { id, state, key, principal } of open) {
    const call = key.slice(principal.length + 1);
    const question = sampleQuestion({ key, principal, argv: [call] });
    const asked = await approvals.ask(question);
    expect(asked).toMatchObject({ kind: 'asked', approvalId: id, how: 'resumed' });
    if (state === 'pending') await approvals.decide(id as ApprovalId, { decision: 'approve', scope: 'once', by: ada });
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
