import { readFileSync } from 'node:fs';
import { secureRandomBytes } from '@palyra/primitives';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type CpaceRunInput, intermediateKey, startCpace } from './cpace.ts';
import {
  type CpaceInputs,
  calculateGenerator,
  generatorString,
  sampleScalar,
  scalarMultiply,
  scalarMultiplyVerified,
  scalarOf,
  sha512,
} from './cpace-group.ts';
import { lengthValue } from './length-value.ts';

const VECTORS = new URL('../../../../tests/vectors/cpace/ristretto255-sha512.json', import.meta.url);
const vector = JSON.parse(readFileSync(VECTORS, 'utf8'));
const bytes = (hex: string): Uint8Array<ArrayBuffer> => Uint8Array.from(Buffer.from(hex, 'hex'));
const hex = (value: Uint8Array | undefined): string | undefined => value && Buffer.from(value).toString('hex');

const inputs: CpaceInputs = {
  secret: bytes(vector.secret),
  channel: bytes(vector.channel),
  session: bytes(vector.session),
};

/** The recommended sampling takes exactly the bytes of the draft's scalars: their upper four bits are clear. */
function vectorRun(role: CpaceRunInput['role']) {
  const { associatedData, scalar } = vector[role];
  return startCpace({ role, inputs, associatedData: bytes(associatedData), randomBytes: () => bytes(scalar) });
}

describe('the test vectors of draft-irtf-cfrg-cpace-21', () => {
  test('strings with their lengths', () => {
    const { parts, written } = vector.lengthValue;
    expect(hex(lengthValue(...parts.map(bytes)))).toBe(written);
    expect(hex(lengthValue(new Uint8Array(127)).slice(0, 2))).toBe('7f00');
    expect(hex(lengthValue(new Uint8Array(128)).slice(0, 3))).toBe('800100');
  });

  test('the generator', () => {
    expect(hex(generatorString(inputs))).toBe(vector.generatorString);
    expect(hex(sha512(generatorString(inputs)))).toBe(vector.generatorHash);
    expect(hex(calculateGenerator(inputs).toBytes())).toBe(vector.generator);
  });

  test('shares and the key of both sides', () => {
    const [initiator, responder] = [vectorRun('initiator'), vectorRun('responder')];
    expect(hex(initiator.message.share)).toBe(vector.initiator.share);
    expect(hex(responder.message.share)).toBe(vector.responder.share);
    expect(hex(initiator.finish(responder.message)?.key)).toBe(vector.key);
    expect(hex(responder.finish(initiator.message)?.key)).toBe(vector.key);
    const messages = { first: initiator.message, second: responder.message };
    expect(hex(intermediateKey({ session: inputs.session, point: bytes(vector.point), ...messages }))).toBe(vector.key);
    expect(hex(scalarMultiplyVerified(scalarOf(bytes(vector.initiator.scalar)), responder.message.share))).toBe(
      vector.point,
    );
  });

  test('multiplication, and what it must refuse', () => {
    const { scalar, element, product, invalid } = vector.multiplication;
    expect(hex(scalarMultiplyVerified(scalarOf(bytes(scalar)), bytes(element)))).toBe(product);
    for (const bad of invalid) expect(scalarMultiplyVerified(scalarOf(bytes(scalar)), bytes(bad))).toBeUndefined();
  });

  test.each<string>(vector.multiplication.invalid)('the run is aborted for the share %s', (share) => {
    const theirs = { share: bytes(share), associatedData: bytes('00') };
    expect(vectorRun('initiator').finish(theirs)).toBeUndefined();
    expect(vectorRun('responder').finish(theirs)).toBeUndefined();
  });
});

const start = (role: CpaceRunInput['role'], over: Partial<CpaceInputs> = {}) =>
  startCpace({
    role,
    inputs: { ...inputs, ...over },
    associatedData: Buffer.from(role),
    randomBytes: secureRandomBytes,
  });

test('both sides prove the key to each other', () => {
  const [a, b] = [start('initiator'), start('responder')];
  const [atA, atB] = [a.finish(b.message), b.finish(a.message)];
  expect([atA?.isProvenBy(atB?.proof as Uint8Array), atB?.isProvenBy(atA?.proof as Uint8Array)]).toEqual([true, true]);
  expect(atA?.isProvenBy(atA.proof)).toBe(false);
});

test.each<[string, Partial<CpaceInputs>]>([
  ['secret', { secret: Buffer.from('12345679') }],
  ['channel', { channel: Buffer.from('another') }],
  ['session', { session: Buffer.from('another') }],
])('another %s leads to another key and to proofs that do not hold', (_what, over) => {
  const [a, b] = [start('initiator'), start('responder', over)];
  const [atA, atB] = [a.finish(b.message), b.finish(a.message)];
  expect(hex(atA?.key)).not.toBe(hex(atB?.key));
  expect(atB?.isProvenBy(atA?.proof as Uint8Array)).toBe(false);
});

test('associated data that was changed on the way leads to another key', () => {
  const [a, b] = [start('initiator'), start('responder')];
  const changed = { ...b.message, associatedData: Buffer.from('changed') };
  expect(hex(a.finish(changed)?.key)).not.toBe(hex(b.finish(a.message)?.key));
});

test('our own message sent back is refused, and so is a share of another length', () => {
  const run = start('initiator');
  expect(run.finish(run.message)).toBeUndefined();
  for (const length of [0, 31, 33, 64]) {
    expect(run.finish({ share: new Uint8Array(length).fill(1), associatedData: bytes('') })).toBeUndefined();
  }
});

test('scalars have 252 bits and are never zero', () => {
  let call = 0;
  const zeroFirst = (length: number) => new Uint8Array(length).fill(call++ === 0 ? 0 : 0xff);
  expect(sampleScalar(zeroFirst)).toBe(2n ** 252n - 1n);
  expect(hex(scalarMultiply(1n, calculateGenerator(inputs)))).toBe(vector.generator);
});

test('no two lists of strings are written alike', () => {
  const part = fc.uint8Array({ maxLength: 300 });
  fc.assert(
    fc.property(fc.array(part, { maxLength: 4 }), fc.array(part, { maxLength: 4 }), (left, right) => {
      const same = left.length === right.length && left.every((item, index) => hex(item) === hex(right[index]));
      expect(hex(lengthValue(...left)) === hex(lengthValue(...right))).toBe(same);
    }),
  );
});
