import { generateKeyPairSync, sign } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { nodeCrypto, nodeSha256 as sha256 } from '../node-crypto.ts';
import { base64Of, concat, hexOf, uint64, utf8 } from './bytes.ts';
import { type Checkpoint, checkpointText, cosign, findCosignature, parseCheckpoint } from './checkpoint.ts';
import type { Signer } from './crypto.ts';
import { isSignedBy, type NoteKey, noteKeyId, parseNote, signatureLine, signNote } from './signed-note.ts';

/** The example of C2SP's specifications. */
const EXAMPLE = `example.com/behind-the-sofa
20852163
CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=

— example.com/behind-the-sofa Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=
`;

function newSigner(): Signer {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  return {
    publicKey: new Uint8Array(publicKey.export({ type: 'spki', format: 'der' }).subarray(-32)),
    sign: (message) => sign(null, message, privateKey),
  };
}

const [log, witness] = [newSigner(), newSigner()];
const ORIGIN = 'palyra/test';
const LOG: NoteKey = { name: ORIGIN, type: 1, publicKey: log.publicKey };
const WITNESS: NoteKey = { name: 'witness.example', type: 4, publicKey: witness.publicKey };
const CHECKPOINT: Checkpoint = { origin: ORIGIN, size: 5, root: sha256() };
const signed = signNote(checkpointText(CHECKPOINT), ORIGIN, { signer: log, sha256 });
const TIME = 1_700_000_000;

const invalidNote = expect.objectContaining({ code: 'journal.invalid_note' });

describe('a checkpoint', () => {
  test('of the specification is read', () => {
    const { note, checkpoint } = parseCheckpoint(EXAMPLE);
    expect({ ...checkpoint, root: base64Of(checkpoint.root) }).toEqual({
      origin: 'example.com/behind-the-sofa',
      size: 20_852_163,
      root: 'CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=',
    });
    expect(note.signatures.map(({ name, keyId, signature }) => [name, hexOf(keyId), signature.length])).toEqual([
      ['example.com/behind-the-sofa', '033de0ae', 64],
    ]);
    expect(checkpointText(checkpoint)).toBe(note.text);
  });

  test('comes back as it was signed', async () => {
    const origins = fc.string({ unit: fc.constantFrom(...'abcXYZ019._:/-'.split('')), minLength: 1 });
    const roots = fc.uint8Array({ minLength: 32, maxLength: 32 });
    await fc.assert(
      fc.asyncProperty(fc.record({ origin: origins, size: fc.maxSafeNat(), root: roots }), async (checkpoint) => {
        const text = signNote(checkpointText(checkpoint), checkpoint.origin, { signer: log, sha256 });
        const read = parseCheckpoint(text);
        expect(read.checkpoint).toEqual({ ...checkpoint });
        expect(await isSignedBy(read.note, { ...LOG, name: checkpoint.origin }, nodeCrypto)).toBe(true);
      }),
    );
  });

  const root = base64Of(CHECKPOINT.root);

  test.each([
    ['no root', `${ORIGIN}\n5\n`],
    ['no origin', `\n5\n${root}\n`],
    ['an empty root', `${ORIGIN}\n5\n\n`],
    ['a root that is too short', `${ORIGIN}\n5\n${base64Of(new Uint8Array(31))}\n`],
    ['a root in hexadecimal', `${ORIGIN}\n5\n${hexOf(CHECKPOINT.root)}\n`],
    ['a size with a zero in front', `${ORIGIN}\n05\n${root}\n`],
    ['a size with a plus', `${ORIGIN}\n+5\n${root}\n`],
    ['a negative size', `${ORIGIN}\n-5\n${root}\n`],
    ['a size in another base', `${ORIGIN}\n0x5\n${root}\n`],
    ['a size with an exponent', `${ORIGIN}\n5e1\n${root}\n`],
    ['a size with a space', `${ORIGIN}\n5 \n${root}\n`],
    ['a size that numbers cannot hold', `${ORIGIN}\n9007199254740993\n${root}\n`],
    ['a larger one', `${ORIGIN}\n18446744073709551615\n${root}\n`],
    ['an empty line among its extensions', `${ORIGIN}\n5\n${root}\n\nextension\n`],
    ['an empty line after its root', `${ORIGIN}\n5\n${root}\n\n`],
  ])('with %s is refused, though it is signed', (_what, text) => {
    expect(() => parseCheckpoint(signNote(text, ORIGIN, { signer: log, sha256 }))).toThrow(invalidNote);
  });

  test('may have extension lines, which are signed with it', async () => {
    const text = `${checkpointText(CHECKPOINT)}extension 1\nextension 2\n`;
    const { note, checkpoint } = parseCheckpoint(signNote(text, ORIGIN, { signer: log, sha256 }));
    expect(checkpoint).toEqual(CHECKPOINT);
    expect(await isSignedBy(note, LOG, nodeCrypto)).toBe(true);
    expect(await isSignedBy({ ...note, text: checkpointText(CHECKPOINT) }, LOG, nodeCrypto)).toBe(false);
  });

  test.each([
    ['an origin with a line break', { origin: `${ORIGIN}\n9\n${root}` }],
    ['no origin', { origin: '' }],
    ['a negative size', { size: -1 }],
    ['half an entry', { size: 1.5 }],
    ['a size beyond what numbers count', { size: 2 ** 53 }],
    ['a root that is too long', { root: new Uint8Array(33) }],
  ])('cannot be written with %s', (_what, change) => {
    expect(() => checkpointText({ ...CHECKPOINT, ...change })).toThrow(invalidNote);
  });
});

describe('a cosignature', () => {
  const cosigned = (time: number) =>
    signed + cosign(parseNote(signed), { name: WITNESS.name, time, signer: witness, sha256 });

  test('is found with its time, and leaves the signature of the log as it was', async () => {
    await fc.assert(
      fc.asyncProperty(fc.maxSafeNat(), async (time) => {
        const { note, checkpoint } = parseCheckpoint(cosigned(time));
        expect(checkpoint).toEqual(CHECKPOINT);
        expect(await findCosignature(note, WITNESS, nodeCrypto)).toEqual({ witness: WITNESS, time });
        expect(await isSignedBy(note, LOG, nodeCrypto)).toBe(true);
      }),
    );
  });

  test('signs the message that the specification describes', async () => {
    const line = parseNote(cosigned(TIME)).signatures.at(-1);
    const message = utf8(`cosignature/v1\ntime ${TIME}\n${checkpointText(CHECKPOINT)}`);
    const signature = (line?.signature ?? new Uint8Array()).slice(8);
    expect(line?.signature.slice(0, 8)).toEqual(uint64(TIME));
    expect(await nodeCrypto.verifyEd25519({ publicKey: witness.publicKey, message, signature })).toBe(true);
  });

  test('of another time, text, name or key does not hold', async () => {
    const { text, signatures } = parseNote(cosigned(TIME));
    const [own, line] = signatures as [(typeof signatures)[0], (typeof signatures)[0]];
    const found = (changed: Partial<typeof line>, by: Partial<NoteKey> = {}) =>
      findCosignature({ text, signatures: [own, { ...line, ...changed }] }, { ...WITNESS, ...by }, nodeCrypto);
    expect(await found({})).toEqual({ witness: WITNESS, time: TIME });
    expect(await found({ signature: concat(uint64(TIME + 1), line.signature.slice(8)) })).toBeUndefined();
    expect(await found({ signature: line.signature.slice(8) })).toBeUndefined();
    expect(await found({ signature: concat(line.signature, new Uint8Array(1)) })).toBeUndefined();
    expect(await found({ name: 'another.example' })).toBeUndefined();
    expect(await found({}, { name: 'another.example' })).toBeUndefined();
    expect(await found({}, { publicKey: log.publicKey })).toBeUndefined();
    const other = checkpointText({ ...CHECKPOINT, size: 6 });
    expect(await findCosignature({ text: other, signatures: [line] }, WITNESS, nodeCrypto)).toBeUndefined();
    const otherId = { ...WITNESS, publicKey: log.publicKey };
    expect(await found({ keyId: noteKeyId(otherId, sha256) }, { publicKey: log.publicKey })).toBeUndefined();
  });

  test('with a time that numbers cannot hold is passed over for one that holds', async () => {
    const keyId = noteKeyId(WITNESS, sha256);
    const broken = signatureLine({ name: WITNESS.name, keyId, signature: new Uint8Array(72).fill(255) });
    const [text = '', lines = ''] = cosigned(TIME).split('\n\n');
    const note = parseNote(`${text}\n\n${broken}${lines}`);
    expect(await findCosignature(note, WITNESS, nodeCrypto)).toEqual({ witness: WITNESS, time: TIME });
  });

  test('is not read with a time that is only the nearest number', async () => {
    const text = checkpointText(CHECKPOINT);
    const time = new Uint8Array(8);
    new DataView(time.buffer).setBigUint64(0, 2n ** 53n + 1n);
    const signature = concat(time, witness.sign(utf8(`cosignature/v1\ntime ${2 ** 53}\n${text}`)));
    const note = { text, signatures: [{ name: WITNESS.name, keyId: noteKeyId(WITNESS, sha256), signature }] };
    expect(await findCosignature(note, WITNESS, nodeCrypto)).toBeUndefined();
  });

  test('is none when the key only signs notes, and a signed note is no cosignature', async () => {
    const note = parseNote(signNote(checkpointText(CHECKPOINT), WITNESS.name, { signer: witness, sha256 }));
    expect(await findCosignature(note, WITNESS, nodeCrypto)).toBeUndefined();
    const asSigner: NoteKey = { ...WITNESS, type: 1 };
    const keyId = noteKeyId(asSigner, sha256);
    const moved = parseNote(cosigned(TIME)).signatures.map((line) => ({ ...line, keyId }));
    expect(
      await findCosignature({ text: checkpointText(CHECKPOINT), signatures: moved }, asSigner, nodeCrypto),
    ).toBeUndefined();
  });

  test('passes for no note of the witness, though its message could be one', async () => {
    const [, line] = parseNote(cosigned(TIME)).signatures as unknown as [unknown, { signature: Uint8Array }];
    const text = `cosignature/v1\ntime ${TIME}\n${checkpointText(CHECKPOINT)}`;
    const signature = line.signature.slice(8);
    const note = { text, signatures: [{ name: WITNESS.name, keyId: noteKeyId(WITNESS, sha256), signature }] };
    expect(await isSignedBy(note, WITNESS, nodeCrypto)).toBe(false);
  });
});
