import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, sign } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { bytesOfHex, hexOf } from './format/bytes.ts';
import { nodeCrypto, nodeSha256 } from './node-crypto.ts';

const bytes = (hex: string): Uint8Array => bytesOfHex(hex) as Uint8Array;

/** RFC 8032, section 7.1, tests 1 to 3. */
const KNOWN = [
  {
    publicKey: 'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a',
    message: '',
    signature:
      'e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b',
  },
  {
    publicKey: '3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c',
    message: '72',
    signature:
      '92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00',
  },
  {
    publicKey: 'fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025',
    message: 'af82',
    signature:
      '6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a',
  },
].map(({ publicKey, message, signature }) => ({
  publicKey: bytes(publicKey),
  message: bytes(message),
  signature: bytes(signature),
}));

describe('SHA-256', () => {
  test('is that of the parts one after the other, however they are cut', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array()), (parts) => {
        expect(hexOf(nodeSha256(...parts))).toBe(createHash('sha256').update(Buffer.concat(parts)).digest('hex'));
      }),
    );
  });

  test('comes as plain bytes, whose slices are copies', () => {
    for (const hash of [
      nodeSha256(),
      nodeSha256(new Uint8Array(1)),
      nodeSha256(new Uint8Array(1), new Uint8Array(2)),
    ]) {
      expect(hash.constructor).toBe(Uint8Array);
    }
  });
});

describe('Ed25519', () => {
  test.each(KNOWN)('the signatures of RFC 8032 hold', async (known) => {
    expect(await nodeCrypto.verifyEd25519(known)).toBe(true);
  });

  test('any changed bit of key, message or signature is refused', async () => {
    const { privateKey, publicKey } = generateKeyPairSync('ed25519');
    const message = Buffer.from('what was signed');
    const signed = {
      publicKey: publicKey.export({ type: 'spki', format: 'der' }).subarray(-32),
      message,
      signature: sign(null, message, privateKey),
    };
    expect(await nodeCrypto.verifyEd25519(signed)).toBe(true);
    const fields = ['publicKey', 'message', 'signature'] as const;
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...fields), fc.nat(), async (field, bit) => {
        const changed = Uint8Array.from(signed[field]);
        const at = (bit >> 3) % changed.length;
        changed[at] = (changed[at] as number) ^ (1 << (bit % 8));
        expect(await nodeCrypto.verifyEd25519({ ...signed, [field]: changed })).toBe(false);
      }),
      { numRuns: 300 },
    );
  });

  test('keys and signatures of any other form are refused without an error', async () => {
    const [good] = KNOWN as [(typeof KNOWN)[number]];
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 80 }), async (other) => {
        expect(await nodeCrypto.verifyEd25519({ ...good, publicKey: other })).toBe(false);
        expect(await nodeCrypto.verifyEd25519({ ...good, signature: other })).toBe(false);
      }),
    );
    for (const length of [0, 31, 33, 64]) {
      expect(await nodeCrypto.verifyEd25519({ ...good, publicKey: new Uint8Array(length) })).toBe(false);
    }
  });

  test('more keys than are remembered are verified all the same', async () => {
    const message = new Uint8Array([1]);
    const seeds = Array.from({ length: 150 }, (_, index) => nodeSha256(Buffer.from(`seed ${index}`)));
    const holds = seeds.map((seed) => {
      const key = createPrivateKey({
        key: Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), seed]),
        format: 'der',
        type: 'pkcs8',
      });
      const publicKey = createPublicKey(key).export({ type: 'spki', format: 'der' }).subarray(-32);
      return nodeCrypto.verifyEd25519({ publicKey, message, signature: sign(null, message, key) });
    });
    expect(new Set(await Promise.all(holds))).toEqual(new Set([true]));
  });
});
