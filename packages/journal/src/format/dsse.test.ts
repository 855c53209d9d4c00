import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import { canonicalJson } from '@palyra/primitives/browser';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { nodeCrypto, nodeSha256 } from '../node-crypto.ts';
import { base64Of, utf8 } from './bytes.ts';
import type { Signer } from './crypto.ts';
import { isEnvelopeSignedBy, keyIdOf, openEnvelope, preAuthEncoding, signEnvelope } from './dsse.ts';

const TYPE = 'http://example.com/HelloWorld';
const INVALID = { name: 'JournalError', code: 'journal.invalid_envelope' };

function createSigner(): Signer {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const raw = new Uint8Array(publicKey.export({ type: 'spki', format: 'der' }).subarray(-32));
  return { publicKey: raw, sign: (message) => new Uint8Array(sign(null, message, privateKey)) };
}

const signer = createSigner();
const signing = { signer, sha256: nodeSha256 };
const text = signEnvelope(TYPE, utf8('hello world'), signing);

test('what is signed is the type and the payload, each with its length in bytes', () => {
  expect(preAuthEncoding(TYPE, utf8('hello world'))).toEqual(
    utf8('DSSEv1 29 http://example.com/HelloWorld 11 hello world'),
  );
  expect(preAuthEncoding('é', utf8('ü'))).toEqual(utf8('DSSEv1 2 é 2 ü'));
});

test('no two pairs of type and payload are signed as the same bytes', () => {
  const pair = fc.tuple(fc.string({ maxLength: 12 }), fc.string({ maxLength: 12 }));
  fc.assert(
    fc.property(pair, pair, (left, right) => {
      fc.pre(left.join('\0') !== right.join('\0'));
      expect(preAuthEncoding(left[0], utf8(left[1]))).not.toEqual(preAuthEncoding(right[0], utf8(right[1])));
    }),
  );
});

test('an envelope is canonical JSON that names the key by the SHA-256 of its 32 bytes', () => {
  const keyid = createHash('sha256').update(signer.publicKey).digest('hex');
  const sig = base64Of(signer.sign(utf8('DSSEv1 29 http://example.com/HelloWorld 11 hello world')));
  expect(keyIdOf(signer.publicKey, nodeSha256)).toBe(keyid);
  expect(text).toBe(
    `{"payload":"aGVsbG8gd29ybGQ=","payloadType":"${TYPE}","signatures":[{"keyid":"${keyid}","sig":"${sig}"}]}`,
  );
});

test('any payload opens as it was signed', async () => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 500 }), async (payload) => {
      const opened = openEnvelope(signEnvelope(TYPE, payload, signing));
      expect({ payloadType: opened.payloadType, payload: opened.payload }).toEqual({ payloadType: TYPE, payload });
      expect(await isEnvelopeSignedBy(opened, signer.publicKey, nodeCrypto)).toBe(true);
    }),
  );
});

describe('a signature does not hold', () => {
  const opened = openEnvelope(text);
  const [signature] = opened.signatures;

  test('for another key', async () => {
    expect(await isEnvelopeSignedBy(opened, createSigner().publicKey, nodeCrypto)).toBe(false);
  });

  test('for another key, though the envelope names it', async () => {
    const other = createSigner().publicKey;
    const renamed = { ...opened, signatures: [{ ...signature, keyid: keyIdOf(other, nodeSha256) }] as const };
    expect(await isEnvelopeSignedBy(renamed, other, nodeCrypto)).toBe(false);
  });

  test('when the envelope names another key than the one that signed', async () => {
    const renamed = { ...opened, signatures: [{ ...signature, keyid: '0'.repeat(64) }] as const };
    expect(await isEnvelopeSignedBy(renamed, signer.publicKey, nodeCrypto)).toBe(false);
  });

  test('for the same payload of another type', async () => {
    expect(await isEnvelopeSignedBy({ ...opened, payloadType: 'text/plain' }, signer.publicKey, nodeCrypto)).toBe(
      false,
    );
  });

  test('over the payload alone, without the encoding', async () => {
    const bare = { ...opened, signatures: [{ ...signature, sig: signer.sign(opened.payload) }] as const };
    expect(await isEnvelopeSignedBy(bare, signer.publicKey, nodeCrypto)).toBe(false);
  });
});

describe('opening refuses', () => {
  const { payload, payloadType, signatures } = JSON.parse(text) as Record<string, never>;
  const [signature] = signatures as unknown as [{ keyid: string; sig: string }];
  const written = (fields: object) => JSON.stringify({ payload, payloadType, signatures: [signature], ...fields });

  test('nothing that is as it should be', () => {
    expect(written({})).toBe(text);
    expect(() => openEnvelope(written({}))).not.toThrow();
  });

  test.for([
    ['text that is not JSON', 'hello', 'is not canonical JSON'],
    ['an overlong text', `"${'x'.repeat(2 ** 21)}"`, 'is too long'],
    ['a key twice', text.replace('{', `{"payload":"",`), 'is not canonical JSON'],
    ['a space', text.replace(',', ', '), 'is not canonical JSON'],
    ['an escape', text.replace('HelloWorld', 'Hello\\u0057orld'), 'is not canonical JSON'],
    ['a newline at the end', `${text}\n`, 'is not canonical JSON'],
    ['keys in another order', JSON.stringify({ payloadType, payload, signatures }), 'is not canonical JSON'],
    ['something else than an object', '[]', 'The whole is not an object'],
    ['an unknown field', written({ zzz: 1 }), '"zzz" is unknown'],
    ['a missing payload', text.replace('"payload":"aGVsbG8gd29ybGQ=",', ''), '"payload" is missing'],
    ['a payload that is no text', written({ payload: 1 }), '"payload" is not text'],
    ['base64 for the web', written({ payload: 'aGVsbG8_' }), 'is not base64'],
    ['base64 without padding', written({ payload: 'aGVsbG8gd29ybGQ' }), 'is not base64'],
    ['base64 with stray bits', written({ payload: 'aGVsbG8gd29ybGR=' }), 'is not base64'],
    ['an empty type', written({ payloadType: '' }), '"payloadType" is not the name of a type'],
    ['no signature', written({ signatures: [] }), '"signatures" is not a list of one signature'],
    ['two signatures', written({ signatures: [signature, signature] }), '"signatures" is not a list of one signature'],
    ['a signature with a note', written({ signatures: [{ ...signature, z: 1 }] }), '"signatures/z" is unknown'],
    ['a short signature', written({ signatures: [{ ...signature, sig: 'AAAA' }] }), '"signatures/sig" is not'],
    ['stray bits in it', written({ signatures: [{ ...signature, sig: `${'A'.repeat(85)}B==` }] }), 'is not base64'],
    ['a malformed key id', written({ signatures: [{ ...signature, keyid: 'ab' }] }), '"signatures/keyid" is not'],
  ] as const)('%s', ([, envelope, sentence]) => {
    expect(() => openEnvelope(envelope)).toThrow(
      expect.objectContaining({ ...INVALID, message: expect.stringContaining(sentence) as string }),
    );
  });

  test('any other text, with the same error', () => {
    const anyText = fc.oneof(
      fc.string(),
      fc.json(),
      fc.string().map((noise) => written({ payload: `${noise}!` })),
    );
    fc.assert(
      fc.property(anyText, (envelope) => {
        expect(() => openEnvelope(envelope)).toThrow(expect.objectContaining(INVALID));
      }),
    );
  });
});

test('a type that JSON spells otherwise is read, too', () => {
  for (const type of ['a"b', 'a\\b', 'a', '!~']) {
    expect(openEnvelope(signEnvelope(type, utf8('x'), signing)).payloadType).toBe(type);
  }
});

test('one letter more, less or changed is refused, or is another envelope in its one spelling', () => {
  const put = fc.constantFrom('', ' ', '"', '\\', '=', 'A', '0', 'a', ',', '}', '\\u0061');
  fc.assert(
    fc.property(fc.nat(text.length), fc.nat(1), put, (at, cut, more) => {
      const changed = text.slice(0, at) + more + text.slice(at + cut);
      expect(spelledAgain(changed)).toBe(changed);
    }),
    { numRuns: 3000 },
  );
});

/** What is refused as it should be stays as it is. */
function spelledAgain(envelope: string): string {
  try {
    const { payload, payloadType, signatures } = openEnvelope(envelope);
    const [{ keyid, sig }] = signatures;
    return canonicalJson({ payload: base64Of(payload), payloadType, signatures: [{ keyid, sig: base64Of(sig) }] });
  } catch (error) {
    return (error as { readonly code?: string }).code === INVALID.code ? envelope : String(error);
  }
}
