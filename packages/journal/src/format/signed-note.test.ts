import { generateKeyPairSync, sign } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { JournalError } from '../journal-error.ts';
import { nodeCrypto, nodeSha256 as sha256 } from '../node-crypto.ts';
import { base64Of, concat, hexOf } from './bytes.ts';
import type { Signer } from './crypto.ts';
import {
  formatVkey,
  isSignedBy,
  type NoteKey,
  noteKeyId,
  parseNote,
  parseVkey,
  type SignedNote,
  signatureLine,
  signNote,
} from './signed-note.ts';

/** The example in the documentation of Go's note package, from which C2SP has the format. */
const EXAMPLE = `If you think cryptography is the answer to your problem,
then you don't know what your problem is.

— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=
`;
const EXAMPLE_VKEY = 'PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW';

function newSigner(): Signer {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  return {
    publicKey: new Uint8Array(publicKey.export({ type: 'spki', format: 'der' }).subarray(-32)),
    sign: (message) => sign(null, message, privateKey),
  };
}

const signer = newSigner();
const KEY: NoteKey = { name: 'example.org/log', type: 1, publicKey: signer.publicKey };

const invalidNote = expect.objectContaining({ code: 'journal.invalid_note' });
const invalidKey = expect.objectContaining({ code: 'journal.invalid_key' });

/** Lines, some of them empty, some that look like signatures. */
const noteText = fc
  .array(fc.oneof(fc.string({ unit: 'grapheme' }), fc.constantFrom('', '— a QUJDREVG', '\u2014', '\ufeff')), {
    minLength: 1,
  })
  .map((lines) => `${lines.join('\n')}\n`)
  .filter((text) => text.length > 1 && !/\p{Cc}/u.test(text.replaceAll('\n', '')));
const noteName = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 20 })
  .filter((name) => /^[^\s+\p{Cc}]+$/u.test(name));

/** Undefined when it is refused as it should be. */
function readOf(note: string): SignedNote | undefined {
  try {
    return parseNote(note);
  } catch (error) {
    if (error instanceof JournalError && error.code === 'journal.invalid_note') return undefined;
    throw error;
  }
}

describe('a signed note', () => {
  test('that another program signed is read, and its signature holds', async () => {
    const note = parseNote(EXAMPLE);
    expect(note.text).toBe(EXAMPLE.slice(0, EXAMPLE.indexOf('\n\n') + 1));
    expect(note.signatures.map(({ name, keyId, signature }) => [name, hexOf(keyId), signature.length])).toEqual([
      ['PeterNeumann', 'c74f20a3', 64],
    ]);
    const key = parseVkey(EXAMPLE_VKEY, sha256);
    expect(await isSignedBy(note, key, nodeCrypto)).toBe(true);
    expect(await isSignedBy({ ...note, text: `${note.text}\n` }, key, nodeCrypto)).toBe(false);
  });

  test('comes back as it was signed, by the key that signed it', async () => {
    await fc.assert(
      fc.asyncProperty(noteText, noteName, async (text, name) => {
        const note = parseNote(signNote(text, name, { signer, sha256 }));
        expect(note.text).toBe(text);
        expect(await isSignedBy(note, { ...KEY, name }, nodeCrypto)).toBe(true);
        expect(await isSignedBy(note, { ...KEY, name: `${name}x` }, nodeCrypto)).toBe(false);
      }),
    );
  });

  test('is signed no more when its text changes', async () => {
    const note = parseNote(signNote('one\ntwo\n', KEY.name, { signer, sha256 }));
    for (const text of ['one\ntwo', 'one\ntwo\n\n', 'one\n2\n', '']) {
      expect(await isSignedBy({ ...note, text }, KEY, nodeCrypto)).toBe(false);
    }
  });

  test('is not signed by another key, whatever the line says', async () => {
    const other: NoteKey = { ...KEY, publicKey: newSigner().publicKey };
    const { text, signatures } = parseNote(signNote('text\n', KEY.name, { signer, sha256 }));
    expect(await isSignedBy({ text, signatures }, other, nodeCrypto)).toBe(false);
    const forged = signatures.map((line) => ({ ...line, keyId: noteKeyId(other, sha256) }));
    expect(await isSignedBy({ text, signatures: forged }, other, nodeCrypto)).toBe(false);
    expect(await isSignedBy({ text, signatures: forged }, KEY, nodeCrypto)).toBe(false);
    expect(await isSignedBy({ text, signatures: [] }, KEY, nodeCrypto)).toBe(false);
  });

  test('is not signed by a key when the line has its id but another name', async () => {
    const { text, signatures } = parseNote(signNote('text\n', KEY.name, { signer, sha256 }));
    const renamed = signatures.map((line) => ({ ...line, name: 'example.org/other' }));
    expect(await isSignedBy({ text, signatures: renamed }, KEY, nodeCrypto)).toBe(false);
  });

  test('may have signatures of keys that nobody knows, before and after', async () => {
    const stranger = signatureLine({ name: 'stranger', keyId: new Uint8Array(4), signature: new Uint8Array([7]) });
    const [text = '', line = ''] = signNote('text\n', KEY.name, { signer, sha256 }).split('\n\n');
    const note = parseNote(`${text}\n\n${stranger}${line}${stranger}`);
    expect(note.signatures.map(({ name }) => name)).toEqual(['stranger', KEY.name, 'stranger']);
    expect(await isSignedBy(note, KEY, nodeCrypto)).toBe(true);
  });

  test('is not signed by a key that only cosigns', async () => {
    const cosigner: NoteKey = { ...KEY, type: 4 };
    const [text, signature] = ['text\n', signer.sign(Buffer.from('text\n'))];
    const note = { text, signatures: [{ name: KEY.name, keyId: noteKeyId(cosigner, sha256), signature }] };
    expect(await isSignedBy(note, cosigner, nodeCrypto)).toBe(false);
  });

  const line = '— a QUJDREVG\n';

  test.each([
    ['no signature', 'text\n\n'],
    ['no blank line', `text\n${line}`],
    ['no text', `\n${line}`],
    ['nothing but a line break for a text', `\n\n${line}`],
    ['no newline at the end', 'text\n\n— a QUJDREVG'],
    ['a blank line at the end', `text\n\n${line}\n`],
    ['a line that is no signature', `text\n\n${line}text\n`],
    ['a hyphen for the dash', 'text\n\n- a QUJDREVG\n'],
    ['two spaces', 'text\n\n—  a QUJDREVG\n'],
    ['a third word', 'text\n\n— a QUJDREVG x\n'],
    ['no name', 'text\n\n—  QUJDREVG\n'],
    ['a plus in the name', 'text\n\n— a+b QUJDREVG\n'],
    ['a no-break space in the name', 'text\n\n— a\u00a0b QUJDREVG\n'],
    ['a next-line character in the name', 'text\n\n— a\u0085b QUJDREVG\n'],
    ['no base64', 'text\n\n— a QUJDREV\n'],
    ['another spelling of base64', 'text\n\n— a QUJDREV=\n'],
    ['a key id only', 'text\n\n— a QUJDRA==\n'],
    ['a carriage return', 'text\r\n\r\n— a QUJDREVG\r\n'],
    ['a tab', `te\txt\n\n${line}`],
    ['a zero', `te\0xt\n\n${line}`],
    ['half a surrogate pair', `te\ud800xt\n\n${line}`],
    ['too many signatures', `text\n\n${line.repeat(65)}`],
    ['too much text', `${'x'.repeat(70_000)}\n\n${line}`],
    ['nothing', ''],
  ])('with %s is refused', (_what, note) => {
    expect(() => parseNote(note)).toThrow(invalidNote);
  });

  test('that was changed anywhere is refused, or read as something else', () => {
    fc.assert(
      fc.property(
        fc.nat({ max: EXAMPLE.length - 1 }),
        fc.constantFrom('', '\n', ' ', 'A', '=', '—', '\0', '+'),
        (at, change) => {
          const changed = EXAMPLE.slice(0, at) + change + EXAMPLE.slice(at + 1);
          fc.pre(changed !== EXAMPLE);
          expect(readOf(changed)).not.toEqual(parseNote(EXAMPLE));
        },
      ),
      { numRuns: 500 },
    );
  });

  test('is read and written again as the same text, when it is read at all', () => {
    const pieces = fc.constantFrom('text', '\n', '\n\n', '— ', 'a ', 'QUJDREVG', 'QUJDRA==', ' ', '+');
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 14 }), (parts) => {
        const note = parts.join('');
        const read = readOf(note);
        const again = read && `${read.text}\n${read.signatures.map(signatureLine).join('')}`;
        expect(again ?? note).toBe(note);
      }),
      { numRuns: 3000 },
    );
  });

  test.each(['', '\n', 'text', 'te\rxt\n', 'te\ud800xt\n'])('is not made of %j', (text) => {
    expect(() => signNote(text, KEY.name, { signer, sha256 })).toThrow(invalidNote);
  });

  test.each(['', 'a b', 'a+b', 'a\nb', 'a\u0085b', 'a\0b', '\ud800'])('is not signed in the name %j', (name) => {
    expect(() => signNote('text\n', name, { signer, sha256 })).toThrow(invalidNote);
  });
});

describe('a verifier key', () => {
  test('that another program wrote is read and written again', () => {
    const key = parseVkey(EXAMPLE_VKEY, sha256);
    expect({ name: key.name, type: key.type }).toEqual({ name: 'PeterNeumann', type: 1 });
    expect(formatVkey(key, sha256)).toBe(EXAMPLE_VKEY);
  });

  test('comes back from its one line, of either type', () => {
    fc.assert(
      fc.property(
        noteName,
        fc.constantFrom(1 as const, 4 as const),
        fc.uint8Array({ minLength: 32, maxLength: 32 }),
        (name, type, publicKey) => {
          const key: NoteKey = { name, type, publicKey };
          expect(parseVkey(formatVkey(key, sha256), sha256)).toEqual(key);
          expect(parseVkey(` ${formatVkey(key, sha256)}\n`, sha256)).toEqual(key);
        },
      ),
    );
  });

  test('is refused after any change of one character', () => {
    const vkey = formatVkey(KEY, sha256);
    fc.assert(
      fc.property(
        fc.nat({ max: vkey.length - 1 }),
        fc.constantFrom('', 'A', 'f', '0', '+', ' ', '=', 'é'),
        (at, change) => {
          const changed = vkey.slice(0, at) + change + vkey.slice(at + 1);
          fc.pre(changed !== vkey);
          expect(() => parseVkey(changed, sha256)).toThrow(invalidKey);
        },
      ),
      { numRuns: 500 },
    );
  });

  test('of another type or length is refused, though its id is right', () => {
    for (const material of [[2, ...KEY.publicKey], [1, ...KEY.publicKey, 0], [1, ...KEY.publicKey.slice(1)], [1], []]) {
      const bytes = Uint8Array.from(material);
      const id = hexOf(sha256(Buffer.from(`${KEY.name}\n`), bytes).slice(0, 4));
      expect(() => parseVkey(`${KEY.name}+${id}+${base64Of(bytes)}`, sha256)).toThrow(invalidKey);
    }
  });

  test('has the first four bytes of a hash over name, type and key for an id', () => {
    const expected = sha256(concat(Buffer.from(KEY.name), new Uint8Array([0x0a, 1]), KEY.publicKey)).slice(0, 4);
    expect(noteKeyId(KEY, sha256)).toEqual(expected);
  });
});
