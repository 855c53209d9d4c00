import type { Asked } from '@palyra/approvals';
import {
  type ApprovalsHome,
  createFakeCredentials,
  decideAsShown,
  openApprovalsHome,
  sampleQuestion,
  sharedPostgres,
} from '@palyra/testkit';
import pg from 'pg';
import { expect, test, vi } from 'vitest';

const CREDENTIALS = createFakeCredentials();
const ADA = CREDENTIALS.issue('ada laptop', { person: 'ada' });
const BOB = CREDENTIALS.issue('bob phone', { person: 'bob' });

async function asked({ approvals }: ApprovalsHome, argv: string): Promise<Asked> {
  const outcome = await approvals.ask(sampleQuestion({ argv: [argv] }));
  if (outcome.kind === 'refused') throw new Error(outcome.reason);
  return outcome;
}

test('an answer takes the locks of all the cards it ends in one order, its own as well', async () => {
  const { url, drop } = await sharedPostgres().createDatabase();
  const home = await openApprovalsHome({ kind: 'postgres', url, poolSize: 4 }, { credentials: CREDENTIALS });
  const [first, second, third] = [await asked(home, '1'), await asked(home, '2'), await asked(home, '3')];
  const other = new pg.Client({ connectionString: url });
  await other.connect();
  // Whoever waits in a circle is told so, and this session is the one that looks first.
  await other.query(`set deadlock_timeout = '10ms'`);
  const lock = ({ approvalId }: Asked) => other.query('update approvals set votes = votes where id = $1', [approvalId]);

  await other.query('begin');
  await lock(first);
  const deciding = decideAsShown(home.approvals, third.approvalId, { decision: 'approve', scope: 'session', by: ADA });
  await vi.waitFor(async () => {
    const { rows } = await other.query('select 1 from pg_locks where not granted');
    expect(rows.length).toBeGreaterThan(0);
  });
  // The later ones are free, for the answer waits for the first before it takes any.
  await lock(second);
  await lock(third);
  await other.query('commit');
  expect(await deciding).toMatchObject({ kind: 'decided', released: expect.arrayContaining([first.approvalId]) });

  await other.end();
  await home[Symbol.asyncDispose]();
  await drop();
});

test('answers that release each other, from two nodes at once: each card ends once, and nobody is turned away', async () => {
  const { url, drop } = await sharedPostgres().createDatabase();
  const location = { kind: 'postgres', url, poolSize: 8 } as const;
  const limits = { questionsPerWindow: 1_000 };
  const nodes = [
    await openApprovalsHome(location, { credentials: CREDENTIALS, limits }),
    await openApprovalsHome(location, { credentials: CREDENTIALS, limits }),
  ] as const;
  for (let round = 0; round < 5; round += 1) {
    const cards = await Promise.all(Array.from({ length: 6 }, (_, i) => asked(nodes[0], `${round} ${i}`)));
    const outcomes = await Promise.all(
      cards.map(({ approvalId }, i) =>
        decideAsShown((nodes[i % 2] ?? nodes[0]).approvals, approvalId, {
          decision: 'approve',
          scope: 'timeboxed',
          by: i % 2 === 0 ? ADA : BOB,
        }),
      ),
    );
    expect(outcomes.filter(({ kind }) => kind !== 'decided' && kind !== 'conflict')).toEqual([]);
    const ended = outcomes.flatMap((outcome, i) =>
      outcome.kind === 'decided' ? [String(cards[i]?.approvalId), ...outcome.released] : [],
    );
    expect(ended.toSorted()).toEqual(cards.map(({ approvalId }) => String(approvalId)).toSorted());
  }
  for (const node of nodes) await node[Symbol.asyncDispose]();
  await drop();
});
