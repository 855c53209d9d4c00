import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createPendingReports } from './pending-reports.ts';

const NEVER = new AbortController().signal;
const done = (output: string) => ({ kind: 'completed', output }) as const;

test('reports of the same name come to calls in the order in which they were made', async () => {
  const reports = createPendingReports();
  const [one, two] = [reports.expect('a'), reports.expect('a')];
  void reports.report('a', done('1'));
  void reports.report('a', done('2'));
  await reports.report('a', done('nobody waits for it'));
  expect([await one.next(NEVER), await two.next(NEVER)]).toEqual([done('1'), done('2')]);
});

test('whoever reports waits until the call is over, and hears when it could not be recorded', async () => {
  const reports = createPendingReports();
  const [recorded, lost] = [reports.expect('a'), reports.expect('b')];
  const heard: string[] = [];
  const first = reports.report('a', done('1')).then(() => heard.push('recorded'));
  const second = reports.report('b', done('2')).catch((fault: Error) => heard.push(fault.message));
  await Promise.all([recorded.next(NEVER), lost.next(NEVER)]);
  expect(heard).toEqual([]);
  recorded.drop();
  lost.drop(new Error('full'));
  await Promise.all([first, second]);
  expect(heard.toSorted()).toEqual(['full', 'recorded']);
});

test('one that was refused takes nobody else’s report', async () => {
  const reports = createPendingReports();
  const [refused, other] = [reports.expect('a'), reports.expect('a')];
  refused.drop();
  void reports.report('a', done('1'));
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
  void reports.report('63', done('last'));
  expect(await others.at(-1)).toEqual(done('last'));
});

test('one that a human is still asked about is not given up: those are whose report has been awaited longest', async () => {
  const reports = createPendingReports();
  const asked = reports.expect('asked');
  const givenUp: number[] = [];
  const wait = async (at: number) => {
    if ((await reports.expect(`${at}`).next(NEVER)) === undefined) givenUp.push(at);
  };
  for (let at = 0; at < 66; at += 1) void wait(at);
  await turn();
  expect(givenUp).toEqual([0, 1]);
  // A human said yes: from now on it is the youngest of those that wait, and its report finds it.
  const told = asked.next(NEVER);
  await turn();
  expect(givenUp).toEqual([0, 1, 2]);
  void reports.report('asked', done('yes'));
  expect(await told).toEqual(done('yes'));
});
