import { createPublicKey, generateKeyPairSync, sign } from 'node:crypto';
import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { createSignatureThreads } from './check-signatures.ts';
import type { SignedBytes } from './format/crypto.ts';
import { isPackable, packSigned, unpackSigned } from './packed-signatures.ts';

const { privateKey } = generateKeyPairSync('ed25519');
const publicKey = new Uint8Array(createPublicKey(privateKey).export({ type: 'spki', format: 'der' }).subarray(-32));

/** So many, every third of which was changed after it was signed. */
function signedOnes(count: number): { readonly all: readonly SignedBytes[]; readonly holds: readonly boolean[] } {
  const holds = Array.from({ length: count }, (_, at) => at % 3 !== 2);
  const all = holds.map((isGood, at) => {
    const message = new TextEncoder().encode(`entry ${at} `.repeat(1 + (at % 50)));
    const signature = new Uint8Array(sign(null, message, privateKey));
    return { publicKey, signature, message: isGood ? message : message.map((byte) => byte ^ 1) };
  });
  return { all, holds };
}

const COUNT = 500;

test.for([
  { few: 0, mostThreads: 1 },
  { few: 100, mostThreads: 3 },
  { few: 1000, mostThreads: 1 },
])('many signatures hold exactly where they should, with %o', async (options) => {
  const makeCrypto = createSignatureThreads(options);
  const { all, holds } = signedOnes(COUNT);
  // And again, with the threads of the first time.
  for (const crypto of [makeCrypto(), makeCrypto()]) {
    expect(await Promise.all(all.map((one) => crypto.verifyEd25519(one)))).toEqual(holds);
  }
});

test('keys and signatures of another length are refused', async () => {
  const crypto = createSignatureThreads({ few: 0 })();
  const [good] = signedOnes(1).all as readonly [SignedBytes];
  const others = [
    { ...good, publicKey: publicKey.subarray(1) },
    { ...good, publicKey: new Uint8Array(33) },
    { ...good, signature: good.signature.subarray(1) },
    { ...good, signature: new Uint8Array(65) },
    { ...good, signature: new Uint8Array() },
  ];
  expect(await Promise.all([good, ...others].map((one) => crypto.verifyEd25519(one)))).toEqual([
    true,
    ...others.map(() => false),
  ]);
});

const thread = (body: string) => () =>
  new URL(`data:text/javascript,import { parentPort } from 'node:worker_threads';${body}`);

// SECURITY: T-31 — what was not checked is not taken for checked, and what was not refused not for refused.
test.for([
  ['cannot be started', () => new URL('file:///nowhere/at-all.js')],
  ['has no address', () => new URL('https://thread.invalid/')],
  ['dies of its first batch', thread(`parentPort.on('message', () => { throw new Error('gone'); });`)],
  ['ends without a word', thread(`parentPort.on('message', () => process.exit(0));`)],
] as const)('signatures are checked elsewhere when their thread %s', async ([, entry]) => {
  const crypto = createSignatureThreads({ few: 0, mostThreads: 1, entry })();
  const { all, holds } = signedOnes(COUNT);
  expect(await Promise.all(all.map((one) => crypto.verifyEd25519(one)))).toEqual(holds);
});

test('no thread is started for a batch that there is no memory for, and it is checked elsewhere', async () => {
  const entry = vi.fn<() => URL>(() => new URL('file:///nowhere/at-all.js'));
  const crypto = createSignatureThreads({ few: 0, mostThreads: 1, entry })();
  const { all, holds } = signedOnes(3);
  const withoutMemory = all.map((signed) => {
    const message = signed.message.slice();
    const length = () => {
      throw new RangeError('Array buffer allocation failed');
    };
    return { ...signed, message: Object.defineProperty(message, 'length', { get: length }) };
  });
  expect(await Promise.all(withoutMemory.map((one) => crypto.verifyEd25519(one)))).toEqual(holds);
  expect(entry).not.toHaveBeenCalled();
});

test('an answer that says too little is a refusal', async () => {
  const entry = thread(
    `parentPort.on('message', ({ id }) => parentPort.postMessage({ id, holds: new Uint8Array([1]) }));`,
  );
  const crypto = createSignatureThreads({ few: 0, mostThreads: 1, entry })();
  const { all } = signedOnes(3);
  expect(await Promise.all(all.map((one) => crypto.verifyEd25519(one)))).toEqual([true, false, false]);
});

test('what is packed is unpacked as it was', () => {
  const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length });
  const signed = fc.record({ publicKey: bytes(32), signature: bytes(64), message: fc.uint8Array() });
  fc.assert(
    fc.property(fc.array(signed), (all) => {
      expect(all.every(isPackable)).toBe(true);
      expect([...unpackSigned(packSigned(all))]).toEqual(all);
    }),
  );
});
