import { generateKeyPairSync, sign } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { nodeCrypto } from '../node-crypto.ts';
import { bytesOfHex, hexOf } from './bytes.ts';
import type { Signer } from './crypto.ts';
import { isSignedByRoot, type KeyStatement, keysValidAt, signKeyStatement, validityOf } from './key-statement.ts';

function newSigner(): Signer {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  return {
    publicKey: new Uint8Array(publicKey.export({ type: 'spki', format: 'der' }).subarray(-32)),
    sign: (message) => sign(null, message, privateKey),
  };
}

const root = newSigner();
const A = 'aa'.repeat(32);
const B = 'bb'.repeat(32);

const STATEMENT: KeyStatement = {
  origin: 'palyra/test',
  change: 'activated',
  role: 'checkpoint',
  public_key: A,
  position: 3,
};

const activated = (public_key: string, position: number): KeyStatement => ({ ...STATEMENT, public_key, position });
const retired = (public_key: string, position: number): KeyStatement => ({
  ...activated(public_key, position),
  change: 'retired',
});

function keysAt(statements: readonly KeyStatement[], size: number): readonly string[] {
  return keysValidAt(validityOf(statements), 'checkpoint', size).map(({ publicKey }) => hexOf(publicKey));
}

describe('the word of the root key', () => {
  test('holds for the statement it was given for', async () => {
    const signed = signKeyStatement(STATEMENT, root);
    expect(signed).toEqual({ ...STATEMENT, signature: expect.stringMatching(/^[0-9a-f]{128}$/) });
    expect(await isSignedByRoot(signed, root.publicKey, nodeCrypto)).toBe(true);
  });

  test('signs canonical JSON with the format in it', async () => {
    const message = Buffer.from(
      `{"change":"activated","format":"palyra.key/1","origin":"palyra/test","position":3,"public_key":"${A}","role":"checkpoint"}`,
    );
    const signature = bytesOfHex(signKeyStatement(STATEMENT, root).signature) as Uint8Array;
    expect(await nodeCrypto.verifyEd25519({ publicKey: root.publicKey, message, signature })).toBe(true);
  });

  test.each([
    ['log', { origin: 'palyra/other' }],
    ['change', { change: 'retired' as const }],
    ['role', { role: 'attestation' as const }],
    ['key', { public_key: B }],
    ['position', { position: 2 }],
    ['position that is none', { position: Number.NaN }],
    ['log that has no spelling', { origin: '\ud800' }],
    ['signature', { signature: '00'.repeat(64) }],
    ['signature in capitals', { signature: 'AA'.repeat(64) }],
    ['signature that is cut', { signature: 'aa'.repeat(63) }],
    ['signature that is no hexadecimal', { signature: 'signed' }],
  ])('does not hold for another %s', async (_what, change) => {
    const signed = { ...signKeyStatement(STATEMENT, root), ...change };
    expect(await isSignedByRoot(signed, root.publicKey, nodeCrypto)).toBe(false);
  });

  test('does not hold under another root key, or none', async () => {
    const signed = signKeyStatement(STATEMENT, root);
    expect(await isSignedByRoot(signed, newSigner().publicKey, nodeCrypto)).toBe(false);
    expect(await isSignedByRoot(signed, new Uint8Array(), nodeCrypto)).toBe(false);
  });
});

describe('a key', () => {
  test('is valid from its activation to its retirement, both included', () => {
    const statements = [activated(A, 3), retired(A, 8), activated(B, 8)];
    expect([2, 3, 7, 8, 9].map((size) => keysAt(statements, size))).toEqual([[], [A], [A], [A, B], [B]]);
  });

  test('is valid for its own role only, and in both when both were certified', () => {
    const keys = validityOf([activated(A, 0), { ...activated(A, 5), role: 'attestation' }]);
    expect(keysValidAt(keys, 'attestation', 4)).toEqual([]);
    expect(keysValidAt(keys, 'attestation', 5).length).toBe(1);
    expect(keysValidAt(keys, 'checkpoint', 4).length).toBe(1);
  });

  test('is not revived, and its time never grows', () => {
    const ended = [activated(A, 3), retired(A, 8)];
    expect(validityOf([...ended, activated(A, 20)])).toEqual(validityOf(ended));
    expect(validityOf([...ended, activated(A, 0)])).toEqual(validityOf(ended));
    expect(validityOf([...ended, retired(A, 50)])).toEqual(validityOf(ended));
    expect(keysAt([...ended, retired(A, 5)], 6)).toEqual([]);
  });

  test('whatever is said later, it is valid at no size at which it was not before', () => {
    const statement = fc.record({
      change: fc.constantFrom('activated' as const, 'retired' as const),
      key: fc.constantFrom(A, B),
      at: fc.nat({ max: 9 }),
    });
    fc.assert(
      fc.property(
        fc.array(statement, { maxLength: 12 }),
        fc.nat({ max: 12 }),
        fc.nat({ max: 10 }),
        (list, cut, size) => {
          const statements = list.map(({ change, key, at }) => ({ ...activated(key, at), change }));
          const before = statements.slice(0, cut);
          const known = new Set(validityOf(before).map(({ publicKey }) => hexOf(publicKey)));
          const now = keysAt(statements, size).filter((key) => known.has(key));
          expect(keysAt(before, size)).toEqual(expect.arrayContaining(now));
        },
      ),
      { numRuns: 500 },
    );
  });

  test('that was never activated, or is no key, is never valid', () => {
    expect(validityOf([retired(A, 3)])).toEqual([]);
    expect(validityOf([activated('not hexadecimal', 0)])).toEqual([]);
    expect(validityOf([activated('aa', 0)])).toEqual([]);
    expect(keysAt([activated(A, 5), retired(A, 3)], 4)).toEqual([]);
  });
});
