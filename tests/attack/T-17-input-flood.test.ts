// T-17: whoever is attached sends without end to a tool that never reads, and the daemon keeps it all.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { AttachedInput } from '../../packages/gateway/src/tools/attached-input.ts';
import { type GatewayToolsPlace, makeGatewayToolsPlace } from '../integration/gateway-tools-place.ts';
import { until } from './sandboxed.ts';

const PIECE = 64 * 1024;
/** What the launcher keeps of it, a pipe, a piece on its way and the one behind it; a terminal takes less. */
const MOST = 256 * 1024 + 64 * 1024 + 3 * PIECE;
let place: GatewayToolsPlace;

beforeAll(async () => {
  place = await makeGatewayToolsPlace();
});
afterAll(async () => {
  await place.close();
});

/** As fast as it is asked, for ever. */
function createFlood() {
  const flood = { sent: 0, isLetGo: false };
  const attached: AsyncIterable<AttachedInput> = {
    [Symbol.asyncIterator]: () => ({
      async next() {
        // A turn of the loop, or whoever never waits would keep everybody else from running.
        await nextTurn();
        flood.sent += PIECE;
        return { value: { kind: 'bytes', bytes: Buffer.alloc(PIECE, 'x\n') } };
      },
      async return() {
        flood.isLetGo = true;
        return { done: true, value: undefined };
      },
    }),
  };
  return { flood, attached };
}

test.each([
  ['pipes', { stdin_open: true }, 256 * 1024],
  ['a terminal', { terminal: { rows: 24, columns: 80 } }, 64 * 1024],
])('through %s: the source waits, and is let go when the tool ends', async (_, how, least) => {
  const { flood, attached } = createFlood();
  const input = { argv: ['sh', '-c', 'stty -echo 2>/dev/null; until test -e stop; do sleep 0.05; done'], ...how };
  const ended = place.call('palyra.process.run', input, { attached });
  await until('as much was sent as has room', () => flood.sent >= least);
  // Each of them would be another piece, if nobody waited.
  for (let turn = 0; turn < 500; turn += 1) await nextTurn();
  expect(flood.sent).toBeLessThanOrEqual(MOST);
  place.put('stop', '');
  expect(await ended).toMatchObject({ kind: 'completed', exitCode: 0 });
  rmSync(join(place.workspace, 'stop'));
  expect(flood.isLetGo).toBe(true);
});

test('a tool that reads a little and ends is not kept by what is still sent', async () => {
  const { flood, attached } = createFlood();
  const result = await place.call('palyra.process.run', { argv: ['head', '-c', '3'], stdin_open: true }, { attached });
  expect(result).toMatchObject({ kind: 'completed', exitCode: 0 });
  expect('stdout' in result && Buffer.from(result.stdout ?? []).toString()).toBe('x\nx');
  expect(flood.isLetGo).toBe(true);
});
