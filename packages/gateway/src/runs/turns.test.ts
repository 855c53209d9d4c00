import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createTurns } from './turns.ts';

test('one that is alone runs beside no other, those that share may, and all of them run', async () => {
  const kinds = fc.array(fc.constantFrom('shared' as const, 'alone' as const), { maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(kinds, fc.infiniteStream(fc.nat(3)), async (all, lengths) => {
      const turns = createTurns();
      const running = new Set<number>();
      const begun: number[] = [];
      await Promise.allSettled(
        all.map((kind, at) =>
          turns.take({ id: `${at}`, how: kind, parent: undefined }, async () => {
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

test('a nested one waits for its siblings only, whatever waits for its parent', async () => {
  const turns = createTurns();
  const log: string[] = [];
  const take = (id: string, how: 'shared' | 'alone', parent?: string) =>
    turns.take({ id, how, parent }, async () => void log.push(id));
  const outer = turns.take({ id: 'outer', how: 'shared', parent: undefined }, async () => {
    // Comes before its children, and cannot begin before they are over.
    const behind = take('behind', 'alone');
    await Promise.all([take('first', 'alone', 'outer'), take('second', 'shared', 'outer')]);
    log.push('outer');
    return { behind };
  });
  await (await outer).behind;
  await take('late', 'shared', 'outer');
  expect(log).toEqual(['first', 'second', 'outer', 'behind', 'late']);
});
