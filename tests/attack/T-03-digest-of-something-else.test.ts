/** T-03: another call with the digest of the approved one, by moving a boundary or by text without bytes of its own. */
import { canonicalJson, type JsonValue, sha256Hex, sha256OfJson, sha256OfParts } from '@palyra/primitives';
import { expect, test } from 'vitest';

const DOMAIN = 'palyra/approval-subject/v1';

test('moving the boundary between two parts changes the digest', () => {
  const parts = [
    ['ls', '-la /tmp'],
    ['ls-la', ' /tmp'],
    ['ls-la /tmp'],
    ['ls', '-la /tmp', ''],
    ['', 'ls', '-la /tmp'],
    ['ls\u0000-la /tmp'],
  ];
  expect(new Set(parts.map((part) => sha256OfParts(DOMAIN, part))).size).toBe(parts.length);
});

test('a digest made for one purpose does not serve another', () => {
  expect(sha256OfParts('palyra/prompt/v1', ['ls'])).not.toBe(sha256OfParts(DOMAIN, ['ls']));
  expect(sha256OfParts('a', ['b'])).not.toBe(sha256OfParts('ab', []));
});

test('texts that encoders map to the same bytes have no digest', () => {
  for (const text of ['rm \ud800', 'rm \ud801']) {
    expect(() => sha256Hex(text)).toThrow(expect.objectContaining({ code: 'primitives.ambiguous_text' }));
    expect(() => sha256OfParts(DOMAIN, [text])).toThrow(expect.objectContaining({ code: 'primitives.ambiguous_text' }));
    expect(() => sha256OfJson({ cmd: text })).toThrow(
      expect.objectContaining({ code: 'primitives.json_lone_surrogate' }),
    );
  }
});

test('arguments that answer differently each time they are read are refused', () => {
  let reads = 0;
  const shifty = {
    get cmd(): string {
      reads += 1;
      return reads === 1 ? 'ls' : 'rm -rf /';
    },
  };
  const disguised = { cmd: 'rm -rf /', toJSON: () => ({ cmd: 'ls' }) } as unknown as JsonValue;
  expect(() => canonicalJson(shifty)).toThrow(expect.objectContaining({ code: 'primitives.not_json' }));
  expect(() => canonicalJson(disguised)).toThrow(expect.objectContaining({ code: 'primitives.not_json' }));
  expect(reads).toBe(0);
});
