import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { BadHead } from './http-head.ts';
import { inflater } from './inflater.ts';

class TooLarge extends Error {}

async function inflated(coding: readonly string[], bytes: Buffer, most = 1_000_000): Promise<string> {
  const sink = inflater(coding, { most, tooLarge: () => new TooLarge() });
  for (let at = 0; at < bytes.length; at += 100) await sink.write(bytes.subarray(at, at + 100));
  return Buffer.from(await sink.end()).toString();
}

const CODINGS = { gzip: gzipSync, deflate: deflateSync, br: brotliCompressSync, zstd: zstdCompressSync } as const;

test.each(Object.entries(CODINGS))('%s is undone, within its limit and not beyond', async (name, compress) => {
  const text = 'hello '.repeat(5_000);
  expect(await inflated([name], compress(text))).toBe(text);
  await expect(inflated([name], compress(text), text.length - 1)).rejects.toThrow(TooLarge);
});

test.each(Object.entries(CODINGS))('a bomb of %s is stopped', async (name, compress) => {
  const bomb = compress(Buffer.alloc(16 * 2 ** 20));
  await expect(inflated([name], bomb, 100_000)).rejects.toThrow(TooLarge);
});

test('what is compressed twice, unknown or broken is refused', async () => {
  expect(() => inflater(['gzip, gzip'], { most: 1, tooLarge: () => new TooLarge() })).toThrow(BadHead);
  expect(() => inflater(['gzip', 'br'], { most: 1, tooLarge: () => new TooLarge() })).toThrow(BadHead);
  expect(() => inflater(['compress'], { most: 1, tooLarge: () => new TooLarge() })).toThrow(BadHead);
  await expect(inflated(['gzip'], Buffer.from('no gzip at all'))).rejects.toThrow(BadHead);
  await expect(inflated(['gzip'], gzipSync('hello').subarray(0, 12))).rejects.toThrow(BadHead);
});
