import type { ConnectRouter } from '@connectrpc/connect';
import { ApprovalService, JournalService } from '@palyra/api';
import { expect, test } from 'vitest';
import { startScriptedPalyrad } from './scripted-palyrad.ts';

const approval = (approvalId: string) =>
  ({ change: { case: 'approval', value: { approvalId, state: 'pending', promptJson: '{}' } } }) as const;
const CAUGHT_UP = { change: { case: 'caughtUp', value: {} } } as const;
const GAP = { change: { case: 'gap', value: {} } } as const;

test('questions are told anew after a lost connection, and after a gap', async () => {
  const cut = Promise.withResolvers<void>();
  let opened = 0;
  const routes = (router: ConnectRouter) =>
    router.service(ApprovalService, {
      async *watchApprovals(_request, { signal }) {
        opened += 1;
        if (opened === 1) yield* [approval('A'), CAUGHT_UP, GAP, approval('never told')];
        if (opened === 2) {
          yield* [approval('B'), CAUGHT_UP];
          await cut.promise;
        }
        if (opened === 3) {
          yield CAUGHT_UP;
          await new Promise((resolve) => {
            signal.addEventListener('abort', resolve);
          });
        }
      },
    });
  await using palyrad = await startScriptedPalyrad({ script: () => 0, routes });
  const stop = new AbortController();
  const told: string[] = [];
  for await (const change of palyrad.client().approvals.watch({ signal: stop.signal })) {
    told.push(change.kind === 'approval' ? change.approval.approval_id : change.kind);
    if (told.length === 6) {
      palyrad.cutNow();
      cut.resolve();
    }
    if (told.length === 8) stop.abort();
  }
  expect(told).toEqual(['restarted', 'A', 'caught_up', 'restarted', 'B', 'caught_up', 'restarted', 'caught_up']);
});

test('the journal is told from now on without a gap, wherever the connection is lost', async () => {
  const begins: (bigint | undefined)[] = [];
  let last = 6n;
  const routes = (router: ConnectRouter) =>
    router.service(JournalService, {
      queryEntries: () => ({ entries: [{ seq: last }] }),
      async *tailEntries({ fromSeq }) {
        begins.push(fromSeq);
        // Two at a time, and one again that was told before: then the connection is gone.
        const first = fromSeq ?? 0n;
        last = first + 1n;
        yield* [first - 1n, first, last].map((seq) => ({ entry: { seq, kind: 'tool.attested' } }));
      },
    });
  await using palyrad = await startScriptedPalyrad({ script: () => 0, routes });
  const told: number[] = [];
  for await (const { seq } of palyrad.client().journal.tail()) {
    told.push(seq);
    if (told.length === 5) break;
  }
  expect(told).toEqual([7, 8, 9, 10, 11]);
  expect(begins).toEqual([7n, 9n, 11n]);
});

test('a list is read page by page, and no further than was asked for', async () => {
  const asked: (readonly [string, number])[] = [];
  const routes = (router: ConnectRouter) =>
    router.service(ApprovalService, {
      listApprovals({ pageToken, limit }) {
        asked.push([pageToken, limit]);
        const from = Number(pageToken);
        const approvals = Array.from({ length: limit }, (_, at) => ({ approvalId: `${from + at}`, promptJson: '{}' }));
        return { approvals, nextPageToken: `${from + limit}` };
      },
    });
  await using palyrad = await startScriptedPalyrad({ script: () => 0, routes });
  const found = await palyrad.client().approvals.list({ limit: 450 });
  expect(found.map(({ approval_id: id }) => Number(id))).toEqual(Array.from({ length: 450 }, (_, at) => at));
  expect(asked).toEqual([
    ['', 200],
    ['200', 200],
    ['400', 50],
  ]);
});

test('a watch that is told to give up says why', async () => {
  await using palyrad = await startScriptedPalyrad({ script: () => 0 });
  const client = palyrad.client({ giveUpAfterMs: 0 });
  await palyrad.stop();
  await expect(client.approvals.watch()[Symbol.asyncIterator]().next()).rejects.toMatchObject({
    code: 'client.unreachable',
  });
});
