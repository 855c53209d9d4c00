// T-39: an agent has one of its own files kept for undoing, and has it grow while palyrad reads it. The stand-in is a file of the
// kernel that has no size, and more bytes than palyrad has memory.
import { expect, test } from 'vitest';
import { createKeepEdits } from '../../packages/gateway/src/runners/delegated/keep-edits.ts';
import { createLocatePath } from '../../packages/gateway/src/runners/delegated/locate-path.ts';
import type { ChangeLog } from '../../packages/gateway/src/tools/change-log.ts';

test('no more of it is read than is kept of any, and nothing of it is kept', async () => {
  const kept: number[] = [];
  const changes: ChangeLog = {
    blobsOf: () => ({
      async keep({ bytes }) {
        kept.push(bytes.length);
      },
      fetch: async () => undefined,
    }),
    record: async () => undefined,
  };
  const workspace = `/proc/${process.pid}`;
  const keep = createKeepEdits({ changes, locate: createLocatePath([]) });
  const settle = await keep([`${workspace}/pagemap`], { runId: 'run', callId: 'call', workspace, timeoutMs: 1000 });
  await settle();
  expect(kept).toEqual([]);
  // Twice eight megabytes, and what it takes to hold them; not gigabytes.
  expect(process.memoryUsage().arrayBuffers).toBeLessThan(256 * 1024 * 1024);
});
