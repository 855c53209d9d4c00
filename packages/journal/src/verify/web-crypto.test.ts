import { generateKeyPairSync, sign } from 'node:crypto';
import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { nodeCrypto } from '../node-crypto.ts';
import { createWebCrypto } from './web-crypto.ts';

const { privateKey, publicKey: publicObject } = generateKeyPairSync('ed25519');
const publicKey = new Uint8Array(publicObject.export({ type: 'spki', format: 'der' }).subarray(12));

test('it says of every signature what Node says', async () => {
  const crypto = await createWebCrypto();
  await fc.assert(
    fc.asyncProperty(fc.uint8Array(), fc.nat(63), fc.boolean(), async (message, at, spoil) => {
      const signature = new Uint8Array(sign(null, message, privateKey));
      if (spoil) signature[at] = (signature[at] as number) ^ 1;
      const signed = { publicKey, message, signature };
      expect(await crypto.verifyEd25519(signed)).toBe(!spoil);
      expect(await nodeCrypto.verifyEd25519(signed)).toBe(!spoil);
      expect(crypto.sha256(message)).toEqual(nodeCrypto.sha256(message));
    }),
    { numRuns: 30 },
  );
});

test('keys and signatures of other lengths verify nothing, and nothing is thrown', async () => {
  const crypto = await createWebCrypto();
  const message = new Uint8Array([1]);
  const signature = new Uint8Array(sign(null, message, privateKey));
  for (const length of [0, 31, 33, 64]) {
    const signed = { publicKey: new Uint8Array(length), message, signature };
    expect(await crypto.verifyEd25519(signed)).toBe(false);
  }
  expect(await crypto.verifyEd25519({ publicKey, message, signature: signature.slice(1) })).toBe(false);
});

test('where Ed25519 is not offered it says so, instead of calling every signature forged', async () => {
  const importKey = vi.spyOn(globalThis.crypto.subtle, 'importKey').mockRejectedValue(new Error('NotSupportedError'));
  try {
    await expect(createWebCrypto()).rejects.toMatchObject({ code: 'journal.crypto_missing' });
  } finally {
    importKey.mockRestore();
  }
});
