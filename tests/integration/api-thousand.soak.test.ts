import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Client } from '@connectrpc/connect';
import { ApprovalService, RunService, WorkspaceService } from '@palyra/api';
import { createIdSource } from '@palyra/primitives';
import { sampleQuestion } from '@palyra/testkit';
import { expect, test } from 'vitest';
import { startPalyrad } from '../palyrad-process.ts';
import { type ApiStream, isKind, openStream, propose, start } from './api-stream.ts';
import { useApiPlace } from './api-test-place.ts';

const IS_WHOLE = process.env['PALYRA_SOAK'] === '1';
const STREAMS = IS_WHOLE ? 1_000 : 100;
const QUESTIONS = IS_WHOLE ? 5_000 : 500;
const ids = createIdSource();

// T-39: a thousand agents at once, each with a call under way.
test('a thousand streams with calls in flight are all served, and palyrad answers beside them', async () => {
  await using palyrad = await startPalyrad();
  const project = join(palyrad.root, 'project');
  mkdirSync(project);
  await palyrad.client(WorkspaceService, 'operator').addWorkspace({ path: project });
  const clients: Client<typeof RunService>[] = Array.from({ length: 4 }, () =>
    palyrad.client(RunService, 'local-agent'),
  );
  const streams: ApiStream[] = Array.from({ length: STREAMS }, (_, at) =>
    openStream(clients[at % clients.length] as Client<typeof RunService>, start()),
  );
  for (const stream of streams) stream.say(propose('sleep', 'palyra.sleep', { ms: 3_600_000 }));
  for (const stream of streams) await stream.until(isKind('executionStarted', 'sleep'));
  for (const stream of streams) stream.say(propose('echo', 'palyra.echo', { text: 'x' }));
  for (const stream of streams) await stream.until(isKind('attestation', 'echo'));
  const { runs } = await palyrad.client(RunService, 'operator').listRuns({ openOnly: true, limit: 200 });
  expect(runs).toHaveLength(Math.min(200, STREAMS));
  for (const stream of streams) stream.say({ case: 'cancelRun', value: {} });
  for (const stream of streams) expect((await stream.rest()).filter(isKind('result'))).toHaveLength(2);
});

const place = useApiPlace();

// T-39: five thousand questions at once.
test('five thousand open questions are listed in pages and told to an inbox, each once', async () => {
  const { approvals } = place().daemon;
  for (let asked = 0; asked < QUESTIONS; asked += 25) {
    const questions = Array.from({ length: 25 }, (_, at) =>
      sampleQuestion({
        argv: [`${asked + at}`],
        principal: `agent:waiting-${asked}`,
        key: ids.newId('call'),
        run: ids.newId('run'),
        session: ids.newId('session'),
      }),
    );
    const outcomes = await Promise.all(questions.map((question) => approvals.ask(question)));
    expect(outcomes.every(({ kind }) => kind === 'asked')).toBe(true);
  }
  const client = place().client(ApprovalService, 'operator');
  const listed: string[] = [];
  for (let pageToken = '', more = true; more; more = pageToken !== '') {
    const page = await client.listApprovals({ limit: 500, pageToken });
    listed.push(...page.approvals.map(({ approvalId }) => approvalId));
    pageToken = page.nextPageToken;
  }
  expect(new Set(listed).size).toBe(QUESTIONS);
  const told: string[] = [];
  for await (const { change } of client.watchApprovals({})) {
    if (change.case === 'approval') told.push(change.value.approvalId);
    if (change.case === 'caughtUp') break;
  }
  expect(told).toEqual(listed);
});
