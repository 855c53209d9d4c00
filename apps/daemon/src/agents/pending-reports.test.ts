import { expect, test } from 'vitest';
import { createPendingReports } from './pending-reports.ts';

const NEVER = new AbortController().signal;
const done = (output: string) => ({ kind: 'completed', output }) as const;

test('reports of the same name come to calls in the order in which they were made', async () => {
  const reports = createPendingReports();
  const [one, two] = [reports.expect('a'), reports.expect('a')];
  expect([reports.report('a', done('1')), reports.report('a', done('2')), reports.report('a', done('3'))]).toEqual([
    true,
    true,
    false,
  ]);
  expect([await one.next(NEVER), await two.next(NEVER)]).toEqual([done('1'), done('2')]);
});

test('one that was refused takes nobody else’s report', async () => {
  const reports = createPendingReports();
  const [refused, other] = [reports.expect('a'), reports.expect('a')];
  refused.drop();
  reports.report('a', done('1'));
  expect(await other.next(NEVER)).toEqual(done('1'));
});

test('cancelled, or at the end of the session, there is no report', async () => {
  const reports = createPendingReports();
  const [cancelled, open] = [reports.expect('a'), reports.expect('b')];
  expect(await cancelled.next(AbortSignal.abort())).toBeUndefined();
  const waiting = open.next(NEVER);
  reports.close();
  expect(await waiting).toBeUndefined();
});

test('of very many that are never reported the oldest is given up', async () => {
  const reports = createPendingReports();
  const oldest = reports.expect('first').next(NEVER);
  const others = Array.from({ length: 64 }, (_, at) => reports.expect(`${at}`).next(NEVER));
  expect(await oldest).toBeUndefined();
  reports.report('63', done('last'));
  expect(await others.at(-1)).toEqual(done('last'));
});
