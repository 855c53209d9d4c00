import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ApprovalService, type PendingApproval, RunService } from '@palyra/api';
import { afterAll, beforeAll } from 'vitest';
import { type ApiPlace, type ApiPlaceOptions, openApi } from './api-place.ts';

/** One place for all tests of a file, with a worker of the file tools that waits already. */
export function useApiPlace(options: Omit<ApiPlaceOptions, 'root'> = {}): () => ApiPlace {
  let root = '';
  let place: ApiPlace | undefined;
  beforeAll(async () => {
    root = mkdtempSync(join(tmpdir(), 'palyra-api-'));
    place = await openApi({ root, ...options });
    writeFileSync(join(place.workspace.root, '.env'), 'PORT=1\n');
    const runs = place.client(RunService);
    const { runId } = await runs.startRun({});
    await runs.callTool({ runId, proposal: { tool: 'palyra.fs.list', inputJson: '{}' } });
    await runs.endRun({ runId });
  });
  afterAll(async () => {
    await place?.[Symbol.asyncDispose]();
    rmSync(root, { recursive: true, force: true, maxRetries: 3 });
  });
  return () => {
    if (place === undefined) throw new Error('The place is made before the first test.');
    return place;
  };
}

/** The first question that is open. */
export async function firstQuestion(place: ApiPlace): Promise<PendingApproval> {
  for await (const { change } of place.client(ApprovalService, 'operator').watchApprovals({})) {
    if (change.case === 'approval' && change.value.state === 'pending') return change.value;
  }
  throw new Error('Nothing was asked.');
}
