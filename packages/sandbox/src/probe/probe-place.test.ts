import { existsSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { makeProbePlace } from './probe-place.ts';

test('only the workspace is hidden from other users, and all is gone afterwards', () => {
  const parent = mkdtempSync(join(tmpdir(), 'palyra-place-'));
  const listeners = process.listenerCount('exit');
  const place = makeProbePlace(parent);
  const modes = [place.workspace, place.outside, join(place.workspace, '..')].map(
    (path) => statSync(path).mode & 0o777,
  );
  expect(modes).toEqual([0o700, 0o644, 0o711]);
  expect(readdirSync(parent)).toEqual([place.mark]);
  place.remove();
  expect([existsSync(place.workspace), readdirSync(parent)]).toEqual([false, []]);
  expect(process.listenerCount('exit')).toBe(listeners);
  rmSync(parent, { recursive: true });
});

test('without room for it the fault says what to do', () => {
  expect(() => makeProbePlace('/nonexistent/place')).toThrow(
    expect.objectContaining({
      code: 'sandbox.start_failed',
      message: 'There is no room for a workspace to probe with.',
    }),
  );
});
