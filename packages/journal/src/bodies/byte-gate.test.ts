import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createByteGate } from './byte-gate.ts';

/** Work that is under way until it is told to finish. */
function createWorks(limit: number) {
  const gate = createByteGate(limit);
  const started: string[] = [];
  const finish = new Map<string, () => void>();
  return {
    started,
    enter: (name: string, bytes: number) =>
      gate.pass(bytes, async () => {
        started.push(name);
        await new Promise<void>((resolve) => finish.set(name, resolve));
        return name;
      }),
    async finish(name: string) {
      finish.get(name)?.();
      finish.delete(name);
      await new Promise(setImmediate);
    },
  };
}

test('lets through what is within the limit, and the others in order when bytes come free', async () => {
  const works = createWorks(10);
  const passes = [works.enter('a', 6), works.enter('b', 4), works.enter('c', 5), works.enter('d', 1)];
  await new Promise(setImmediate);
  expect(works.started).toEqual(['a', 'b']);
  await works.finish('b');
  // `d` would fit, but `c` was first.
  expect(works.started).toEqual(['a', 'b']);
  await works.finish('a');
  expect(works.started).toEqual(['a', 'b', 'c', 'd']);
  await works.finish('c');
  await works.finish('d');
  expect(await Promise.all(passes)).toEqual(['a', 'b', 'c', 'd']);
});

test('work over the limit passes alone', async () => {
  const works = createWorks(10);
  const passes = [works.enter('small', 1), works.enter('huge', 1000), works.enter('later', 1)];
  await new Promise(setImmediate);
  expect(works.started).toEqual(['small']);
  await works.finish('small');
  expect(works.started).toEqual(['small', 'huge']);
  await works.finish('huge');
  expect(works.started).toEqual(['small', 'huge', 'later']);
  await works.finish('later');
  await Promise.all(passes);
});

test('whoever fails gives the bytes free', async () => {
  const gate = createByteGate(1);
  await expect(gate.pass(1, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(await gate.pass(1, () => Promise.resolve('yes'))).toBe('yes');
});

test.each([-1, Number.NaN, Number.POSITIVE_INFINITY, 0.5])(
  '%s bytes are refused before they spoil the count',
  async (bytes) => {
    const gate = createByteGate(1);
    await expect(gate.pass(bytes, () => Promise.resolve())).rejects.toThrow(RangeError);
    expect(await gate.pass(1, () => Promise.resolve('yes'))).toBe('yes');
  },
);

test('whatever the sizes, all pass in order and never more than the limit at once, unless alone', async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat({ max: 20 }), fc.array(fc.nat({ max: 30 }), { maxLength: 30 }), async (limit, sizes) => {
      const gate = createByteGate(limit);
      const order: number[] = [];
      const inside = new Set<number>();
      await Promise.all(
        sizes.map((size, index) =>
          gate.pass(size, async () => {
            order.push(index);
            inside.add(index);
            const carrying = [...inside].map((each) => sizes[each] ?? 0).filter((bytes) => bytes > 0);
            const bytes = carrying.reduce((sum, each) => sum + each, 0);
            expect(bytes <= limit || carrying.length === 1).toBe(true);
            await Promise.resolve();
            inside.delete(index);
          }),
        ),
      );
      expect(order).toEqual(sizes.map((_, index) => index));
    }),
  );
});
