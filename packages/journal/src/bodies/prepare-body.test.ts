import { createHash } from 'node:crypto';
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { secureRandomBytes } from '@palyra/primitives';
import { createTemporaryHome } from '@palyra/testkit';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { commitmentOf } from '../format/commitment.ts';
import { nodeSha256 } from '../node-crypto.ts';
import { type Body, createBodyPreparer } from './prepare-body.ts';

const MIB = 1024 * 1024;
const random = secureRandomBytes;

function bytesOf(length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  for (let index = 0; index < length; index += 1) bytes[index] = (index * 7 + (index >> 8)) % 251;
  return bytes;
}

async function* inPieces(bytes: Uint8Array, sizes: readonly number[]): AsyncGenerator<Uint8Array> {
  let start = 0;
  for (let turn = 0; start < bytes.length; turn += 1) {
    const size = sizes[turn % sizes.length] ?? 1;
    yield bytes.slice(start, start + size);
    start += size;
  }
}

function filesIn(directory: string): string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name));
}

function contentOf(directory: string, body: Body): Uint8Array {
  if (body.content !== 'file') return body.content;
  return new Uint8Array(readFileSync(join(directory, body.commitment.slice(0, 2), body.commitment)));
}

function commitmentTo(salt: Uint8Array, bytes: Uint8Array): string {
  return Buffer.from(commitmentOf(salt, bytes, nodeSha256)).toString('hex');
}

test.each([
  { size: 0, place: 'row', kept: 0 },
  { size: 1, place: 'row', kept: 1 },
  { size: 64 * 1024 - 1, place: 'row', kept: 64 * 1024 - 1 },
  { size: 64 * 1024, place: 'row', kept: 64 * 1024 },
  { size: 64 * 1024 + 1, place: 'file', kept: 64 * 1024 + 1 },
  { size: 16 * MIB, place: 'file', kept: 16 * MIB },
  { size: 16 * MIB + 1, place: 'file', kept: 16 * MIB },
])('$size bytes are kept in a $place, $kept of them', async ({ size, place, kept }) => {
  await using home = await createTemporaryHome();
  const directory = join(home.path, 'bodies');
  const bytes = bytesOf(size);
  const body = await createBodyPreparer({ directory, random }).prepare(bytes);
  expect(body.content === 'file' ? 'file' : 'row').toBe(place);
  expect(body).toMatchObject({ bytes: kept, totalBytes: size });
  expect(Buffer.compare(contentOf(directory, body), bytes.subarray(0, kept))).toBe(0);
  expect(body.salt).toHaveLength(32);
  expect(body.commitment).toBe(commitmentTo(body.salt, bytes.subarray(0, kept)));
});

test('a file is ours alone, under its commitment, and nothing else stays', async () => {
  await using home = await createTemporaryHome();
  const directory = join(home.path, 'bodies');
  const body = await createBodyPreparer({ directory, random, inlineBytes: 10 }).prepare(bytesOf(11));
  const [file = '', ...others] = filesIn(directory);
  expect(others).toEqual([]);
  expect(basename(file)).toBe(body.commitment);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  for (const path of ['', 'incoming', body.commitment.slice(0, 2)]) {
    expect(statSync(join(directory, path)).mode & 0o777).toBe(0o700);
  }
});

test('a body small enough for a row touches no disk, and is a copy of its own size', async () => {
  await using home = await createTemporaryHome();
  const source = bytesOf(100);
  const preparer = createBodyPreparer({ directory: join(home.path, 'bodies'), random });
  const [whole, streamed] = [await preparer.prepare(source), await preparer.prepare(inPieces(source, [30]))];
  source.fill(0);
  expect(readdirSync(home.path)).toEqual([]);
  for (const { content } of [whole, streamed]) {
    expect(content).toEqual(bytesOf(100));
    expect((content as Uint8Array).buffer.byteLength).toBe(100);
  }
});

test('without a directory, everything that is kept stays in the row', async () => {
  const preparer = createBodyPreparer({ directory: undefined, random, inlineBytes: 10, maxBytes: 100_000 });
  const body = await preparer.prepare(inPieces(bytesOf(100_001), [30_000]));
  expect(body).toEqual({
    commitment: commitmentTo(body.salt, bytesOf(100_000)),
    salt: body.salt,
    bytes: 100_000,
    totalBytes: 100_001,
    content: bytesOf(100_000),
  });
});

test('however the source is cut into pieces, the same is kept', async () => {
  await using home = await createTemporaryHome();
  const directory = join(home.path, 'bodies');
  const limits = { inlineBytes: 500, maxBytes: 150_000 };
  const salt = random(32);
  const preparer = createBodyPreparer({ directory, random: () => salt, ...limits });
  const sizes = fc.array(fc.integer({ min: 1, max: 90_000 }), { minLength: 1, maxLength: 5 });
  const lengths = fc.oneof(fc.nat({ max: 1000 }), fc.integer({ min: 64_000, max: 67_000 }), fc.nat({ max: 200_000 }));
  await fc.assert(
    fc.asyncProperty(lengths, sizes, async (length, pieces) => {
      const bytes = bytesOf(length);
      const whole = await preparer.prepare(bytes);
      const streamed = await preparer.prepare(inPieces(bytes, length > 5000 ? [...pieces, 5000] : pieces));
      expect(streamed).toEqual(whole);
      const kept = bytes.subarray(0, limits.maxBytes);
      expect(whole.commitment).toBe(commitmentTo(salt, kept));
      expect(Buffer.compare(contentOf(directory, streamed), kept)).toBe(0);
    }),
    { numRuns: 20 },
  );
});

test('text counts as its UTF-8 bytes, wherever it is cut and whatever is not well-formed in it', async () => {
  const preparer = createBodyPreparer({ directory: undefined, random });
  const samples = [
    '',
    'žluťoučký kůň',
    `${'x'.repeat(65_535)}😀${'x'.repeat(65_534)}😀`,
    `${'x'.repeat(65_535)}\ud83d`,
    `${'x'.repeat(65_535)}\ud83dy\ude00`,
    '€'.repeat(200_000),
  ];
  for (const text of samples) {
    const body = await preparer.prepare(text);
    const expected = new TextEncoder().encode(text);
    expect(Buffer.compare(body.content as Uint8Array, expected)).toBe(0);
    expect(body.totalBytes).toBe(expected.length);
  }
});

test('two equal bodies have different commitments', async () => {
  const preparer = createBodyPreparer({ directory: undefined, random });
  const [first, second] = [await preparer.prepare('same'), await preparer.prepare('same')];
  expect(first.content).toEqual(second.content);
  expect(first.commitment).not.toBe(second.commitment);
});

test('a stream of 200 MB is drained and counted with no more than one buffer of it in memory', async () => {
  await using home = await createTemporaryHome();
  const directory = join(home.path, 'bodies');
  const expected = createHash('sha256');
  const before = process.memoryUsage().arrayBuffers;
  let [pulled, mostInMemory, mostUnwritten] = [0, 0, 0];
  async function* source(): AsyncGenerator<Uint8Array> {
    // The same memory again and again: who kept the piece instead of its bytes would keep the wrong ones.
    const piece = new Uint8Array(100_000);
    while (pulled < 200_000_000) {
      piece.fill(pulled / piece.length);
      if (pulled < 16 * MIB) expected.update(piece.subarray(0, 16 * MIB - pulled));
      yield piece;
      pulled += piece.length;
      const [file] = filesIn(directory).map((path) => statSync(path).size);
      mostUnwritten = Math.max(mostUnwritten, Math.min(pulled, 16 * MIB) - (file ?? 0));
      mostInMemory = Math.max(mostInMemory, process.memoryUsage().arrayBuffers - before);
    }
  }
  const salt = new Uint8Array(32).fill(1);
  expected.update(salt);
  mkdirSync(directory, { mode: 0o700 });
  const body = await createBodyPreparer({ directory, random: () => salt }).prepare(source());
  expect(body).toMatchObject({ bytes: 16 * MIB, totalBytes: 200_000_000, content: 'file' });
  expect(body.commitment).toBe(expected.digest('hex'));
  expect(mostUnwritten).toBeLessThanOrEqual(64 * 1024);
  expect(mostInMemory).toBeLessThan(4 * MIB);
});

test('a source that fails after a part was spilled leaves nothing, and its error is told as it is', async () => {
  await using home = await createTemporaryHome();
  const directory = join(home.path, 'bodies');
  async function* source(): AsyncGenerator<Uint8Array> {
    yield bytesOf(200_000);
    expect(filesIn(directory)).toHaveLength(1);
    throw new Error('the tool was killed');
  }
  await expect(createBodyPreparer({ directory, random }).prepare(source())).rejects.toThrow('the tool was killed');
  expect(filesIn(directory)).toEqual([]);
});

test('a write over the source while the disk is awaited changes the body, never what it is committed to', async () => {
  await using home = await createTemporaryHome();
  const directory = join(home.path, 'bodies');
  const source = bytesOf(300_000);
  const preparing = createBodyPreparer({ directory, random }).prepare(source);
  await new Promise(setImmediate);
  source.fill(0);
  const body = await preparing;
  expect(body.commitment).toBe(commitmentTo(body.salt, contentOf(directory, body)));
});

test('a directory that is a link, or that others can write, is refused, and so are those in it', async () => {
  await using home = await createTemporaryHome();
  const elsewhere = join(home.path, 'elsewhere');
  mkdirSync(elsewhere, { mode: 0o700 });
  const refused = async (directory: string, fix: string) => {
    const preparing = createBodyPreparer({ directory, random, inlineBytes: 0 }).prepare('x');
    await expect(preparing).rejects.toMatchObject({ code: 'journal.body_unsafe', fix: expect.stringContaining(fix) });
  };
  symlinkSync(elsewhere, join(home.path, 'link'));
  await refused(join(home.path, 'link'), 'Move it away');

  mkdirSync(join(home.path, 'inner'), { mode: 0o700 });
  symlinkSync(elsewhere, join(home.path, 'inner', 'incoming'));
  await refused(join(home.path, 'inner'), 'Move it away');
  expect(readdirSync(elsewhere)).toEqual([]);

  writeFileSync(join(home.path, 'file'), '');
  await refused(join(home.path, 'file'), 'Move it away');
  for (const mode of [0o720, 0o702, 0o777]) {
    chmodSync(elsewhere, mode);
    await refused(elsewhere, 'chmod 700');
  }
});

test('a shard that is a link is refused, and nothing of the body is left', async () => {
  await using home = await createTemporaryHome();
  const directory = join(home.path, 'bodies');
  mkdirSync(directory, { mode: 0o700 });
  const salt = new Uint8Array(32);
  symlinkSync(home.path, join(directory, commitmentTo(salt, new Uint8Array(1)).slice(0, 2)));
  const preparing = createBodyPreparer({ directory, random: () => salt, inlineBytes: 0 }).prepare(new Uint8Array(1));
  await expect(preparing).rejects.toMatchObject({ code: 'journal.body_unsafe' });
  expect(readdirSync(join(directory, 'incoming'))).toEqual([]);
  expect(readdirSync(home.path)).toEqual(['bodies']);
});

test('a home that is gone is not made again: the body is not recorded, and the source is let go', async () => {
  await using home = await createTemporaryHome();
  let isLetGo = false;
  async function* source(): AsyncGenerator<Uint8Array> {
    try {
      while (true) yield bytesOf(50_000);
    } finally {
      isLetGo = true;
    }
  }
  const preparer = createBodyPreparer({ directory: join(home.path, 'gone', 'bodies'), random });
  await expect(preparer.prepare(source())).rejects.toMatchObject({
    code: 'journal.not_recorded',
    message: 'A body could not be written (ENOENT).',
    fix: expect.stringContaining('disk'),
    cause: expect.objectContaining({ code: 'ENOENT' }),
  });
  expect(isLetGo).toBe(true);
  expect(readdirSync(home.path)).toEqual([]);
});
