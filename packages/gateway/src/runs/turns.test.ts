import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { createTurns } from './turns.ts';

/** The machine may be busy. */
const PATIENT = { timeout: 15_000 };

test('one that is alone runs beside no other, those that share may, and all of them run', async () => {
  const kinds = fc.array(fc.constantFrom('shared' as const, 'alone' as const), { maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(kinds, fc.infiniteStream(fc.nat(3)), async (all, lengths) => {
      const turns = createTurns();
      const running = new Set<number>();
      const begun: number[] = [];
      await Promise.allSettled(
        all.map((kind, at) =>
          turns.take(kind, async () => {
            begun.push(at);
            running.add(at);
            const beside = [...running].filter((other) => other !== at);
            const mayBeBeside = kind === 'shared' && beside.every((other) => all[other] === 'shared');
            expect(beside.length === 0 || mayBeBeside).toBe(true);
            for (let turn = lengths.next().value ?? 0; turn > 0; turn -= 1) await Promise.resolve();
            running.delete(at);
            // One that fails does not hold up the others.
            if (at % 3 === 0) throw new Error('failed');
          }),
        ),
      );
      expect(begun.toSorted((a, b) => a - b)).toEqual(all.map((_, at) => at));
      const alone = begun.filter((at) => all[at] === 'alone');
      expect(alone).toEqual(alone.toSorted((a, b) => a - b));
    }),
    { numRuns: 200 },
  );
});

test('nothing is kept of what is over', async () => {
  const turns = createTurns();
  const results: WeakRef<object>[] = [];
  for (const kind of ['shared', 'alone', 'shared'] as const) {
    await turns.take(kind, async () => {
      const output = { bytes: new Uint8Array(8) };
      results.push(new WeakRef(output));
      return output;
    });
  }
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  await vi.waitFor(async () => {
    // Looking at one keeps it until the end of the turn.
    await new Promise((resolve) => setTimeout(resolve));
    collect();
    expect(results.filter((each) => each.deref() !== undefined).length).toBe(0);
  }, PATIENT);
  await turns.take('alone', async () => undefined);
});
