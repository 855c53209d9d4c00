import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseCosignAnswer, parseCosignRequest, proofOf } from './cosign-request.ts';

const REQUEST = {
  format: 'palyra.checkpoint/1',
  note: 'palyra/x\n1\nAAAA\n\n— palyra/x AAAA\n',
  root_key: 'palyra-root+00000000+AAAA',
  keys: [],
  old_size: 0,
  proof: [`${'A'.repeat(43)}=`],
};

test('a request is read as it was written', () => {
  expect(parseCosignRequest(JSON.stringify(REQUEST))).toEqual(REQUEST);
  expect(proofOf(parseCosignRequest(JSON.stringify(REQUEST)))).toEqual([new Uint8Array(32)]);
});

test.each([
  ['no JSON', 'x'],
  ['a key twice', '{"format":"palyra.checkpoint/1","format":"palyra.checkpoint/1"}'],
  ['another format', JSON.stringify({ ...REQUEST, format: 'palyra.checkpoint/2' })],
  ['a field more', JSON.stringify({ ...REQUEST, more: 1 })],
  ['a negative size', JSON.stringify({ ...REQUEST, old_size: -1 })],
  ['a proof of other things', JSON.stringify({ ...REQUEST, proof: ['AAAA'] })],
  ['too much', JSON.stringify({ ...REQUEST, note: 'x'.repeat(70_000) })],
])('%s is refused', (_name, text) => {
  expect(() => parseCosignRequest(text)).toThrow(expect.objectContaining({ code: 'journal.invalid_request' }));
});

test('the keys of a long life are read, and no more', () => {
  const statement = {
    origin: 'palyra/x',
    change: 'activated',
    role: 'checkpoint',
    public_key: 'a'.repeat(64),
    position: Number.MAX_SAFE_INTEGER,
    signature: 'b'.repeat(128),
  };
  const withKeys = (count: number) =>
    JSON.stringify({ ...REQUEST, keys: Array.from({ length: count }, () => statement) });
  expect(parseCosignRequest(withKeys(16_384)).keys).toHaveLength(16_384);
  expect(() => parseCosignRequest(withKeys(16_385))).toThrow(
    expect.objectContaining({ code: 'journal.invalid_request' }),
  );
});

test('a second spelling of a hash is refused', () => {
  expect(() => proofOf({ proof: [`${'A'.repeat(42)}B=`] })).toThrow(
    expect.objectContaining({ code: 'journal.invalid_request' }),
  );
});

test('any text is either read or refused with the code', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
      for (const parse of [parseCosignRequest, parseCosignAnswer]) {
        expect(() => parse(text)).toThrow(expect.objectContaining({ code: 'journal.invalid_request' }));
      }
    }),
  );
});
