import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { secureRandomBytes } from '@palyra/primitives';
import { createFakeClock, createTemporaryHome } from '@palyra/testkit';
import { expect, test } from 'vitest';
import { type BodySource, createBodyPreparer } from './prepare-body.ts';
import { sweepBodyFiles } from './sweep-files.ts';

const HOUR = 3_600_000;

async function openPlace() {
  const home = await createTemporaryHome();
  const directory = join(home.path, 'bodies');
  const preparer = createBodyPreparer({ directory, random: secureRandomBytes, inlineBytes: 0 });
  const known = new Set<string>();
  const asked: (readonly string[])[] = [];
  const erased = new Set<string>();
  return {
    erased,
    home: home.path,
    directory,
    known,
    asked,
    prepare: (source: BodySource) => preparer.prepare(source),
    pathOf: (commitment: string) => join(directory, commitment.slice(0, 2), commitment),
    /** As if so much time had passed since the files were made. */
    sweepIn: (ms: number) =>
      sweepBodyFiles({
        directory,
        async isKnown(commitments) {
          asked.push(commitments);
          return known;
        },
        isErased: (commitments) => Promise.resolve(new Set(commitments.filter((each) => erased.has(each)))),
        olderThanMs: HOUR,
        clock: createFakeClock(Date.now() + ms),
      }),
    [Symbol.asyncDispose]: () => home[Symbol.asyncDispose](),
  };
}

test('young files stay whoever knows them; old ones stay only when a row refers to them', async () => {
  await using place = await openPlace();
  const [kept, lost] = [await place.prepare('kept'), await place.prepare('lost')];
  place.known.add(kept.commitment);
  linkSync(place.pathOf(lost.commitment), join(place.home, 'second-name'));

  expect(await place.sweepIn(HOUR / 2)).toEqual({ removed: 0 });
  expect(place.asked).toEqual([]);
  expect(existsSync(place.pathOf(lost.commitment))).toBe(true);

  expect(await place.sweepIn(2 * HOUR)).toEqual({ removed: 1 });
  expect(existsSync(place.pathOf(kept.commitment))).toBe(true);
  expect(existsSync(place.pathOf(lost.commitment))).toBe(false);
  expect(readFileSync(join(place.home, 'second-name'))).toEqual(Buffer.alloc(4));
});

test('what a dead process left half-written goes when it is old; what this one writes stays', async () => {
  await using place = await openPlace();
  const incoming = join(place.directory, 'incoming');
  async function* source(): AsyncGenerator<Uint8Array> {
    yield new Uint8Array(100_000);
    writeFileSync(join(incoming, 'left-by-another'), 'half');
    expect(await place.sweepIn(HOUR / 2)).toEqual({ removed: 0 });
    expect(readdirSync(incoming)).toHaveLength(2);
    expect(await place.sweepIn(2 * HOUR)).toEqual({ removed: 1 });
    expect(readdirSync(incoming)).toHaveLength(1);
  }
  const body = await place.prepare(source());
  expect(existsSync(place.pathOf(body.commitment))).toBe(true);
  expect(readdirSync(incoming)).toEqual([]);
});

test('a full shard is asked about in parts', async () => {
  await using place = await openPlace();
  const names = Array.from({ length: 600 }, (_, index) => `ab${String(index).padStart(62, '0')}`);
  mkdirSync(join(place.directory, 'ab'), { recursive: true, mode: 0o700 });
  for (const name of names) writeFileSync(place.pathOf(name), '');
  const lost = new Set([names[0], names[300], names[599]]);
  const kept = names.filter((name) => !lost.has(name));
  for (const name of kept) place.known.add(name);
  expect(await place.sweepIn(2 * HOUR)).toEqual({ removed: 3 });
  expect(place.asked.map((commitments) => commitments.length)).toEqual([256, 256, 88]);
  expect(readdirSync(join(place.directory, 'ab')).toSorted()).toEqual(kept);
});

test('nothing is removed that is not ours, nor through a link, nor when the database does not answer', async () => {
  await using place = await openPlace();
  const { commitment } = await place.prepare('elsewhere');
  const shard = join(place.directory, commitment.slice(0, 2));
  writeFileSync(join(shard, 'notes.txt'), 'notes');
  renameSync(shard, join(place.home, 'elsewhere'));
  symlinkSync(join(place.home, 'elsewhere'), shard);
  expect(await place.sweepIn(2 * HOUR)).toEqual({ removed: 0 });
  expect(readdirSync(join(place.home, 'elsewhere')).toSorted()).toEqual([commitment, 'notes.txt'].toSorted());

  // One body in 256 would have its place there.
  rmSync(shard);
  const lost = await place.prepare('lost');
  const sweeping = sweepBodyFiles({
    directory: place.directory,
    isKnown: () => Promise.reject(new Error('the database is away')),
    isErased: () => Promise.resolve(new Set()),
    olderThanMs: HOUR,
    clock: createFakeClock(Date.now() + 2 * HOUR),
  });
  await expect(sweeping).rejects.toThrow('the database is away');
  expect(existsSync(place.pathOf(lost.commitment))).toBe(true);
});

test('a missing directory is swept, and one that is a link is refused', async () => {
  await using place = await openPlace();
  expect(await place.sweepIn(2 * HOUR)).toEqual({ removed: 0 });
  mkdirSync(join(place.home, 'elsewhere'), { mode: 0o700 });
  symlinkSync(join(place.home, 'elsewhere'), place.directory);
  await expect(place.sweepIn(2 * HOUR)).rejects.toMatchObject({ code: 'journal.body_unsafe' });
});

test('a body that was erased goes at once, however young its file is', async () => {
  await using place = await openPlace();
  const { commitment } = await place.prepare('x'.repeat(100_000));
  expect(await place.sweepIn(0)).toEqual({ removed: 0 });
  place.erased.add(commitment);
  expect(await place.sweepIn(0)).toEqual({ removed: 1 });
  expect(existsSync(place.pathOf(commitment))).toBe(false);
});
