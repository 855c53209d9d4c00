import { createPrivateKey, createPublicKey, sign } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { canonicalJson, canonicalJsonBytes, type JsonObject } from '@palyra/primitives/browser';
import { describe, expect, test } from 'vitest';
import { bytesOfHex, hexOf } from './format/bytes.ts';
import { checkpointText, cosign, findCosignature, parseCheckpoint } from './format/checkpoint.ts';
import { commitmentOf } from './format/commitment.ts';
import type { Signer } from './format/crypto.ts';
import { encodeEntry, entryHash, readEntry, type StoredEntry } from './format/entry.ts';
import { isSignedByRoot, type SignedKeyStatement, signKeyStatement } from './format/key-statement.ts';
import {
  consistencyPath,
  inclusionPath,
  provesConsistency,
  provesInclusion,
  type Subtree,
} from './format/merkle-proof.ts';
import { addLeaf, EMPTY_FRONTIER, type Frontier, rootOf } from './format/merkle-tree.ts';
import { formatVkey, isSignedBy, parseNote, parseVkey, signNote } from './format/signed-note.ts';
import { nodeCrypto, nodeSha256 as sha256 } from './node-crypto.ts';

const VECTORS = new URL('../../../tests/vectors/journal/', import.meta.url);

function vectors(name: string): unknown {
  return JSON.parse(readFileSync(new URL(name, VECTORS), 'utf8'));
}

const bytes = (hex: string): Uint8Array => bytesOfHex(hex) as Uint8Array;

/** PKCS #8 of an Ed25519 key up to its seed (RFC 8410). */
const PKCS8 = '302e020100300506032b657004220420';

function signerOf(seed: string): Signer {
  const key = createPrivateKey({ key: Buffer.from(PKCS8 + seed, 'hex'), format: 'der', type: 'pkcs8' });
  const publicKey = createPublicKey(key).export({ type: 'spki', format: 'der' }).subarray(-32);
  return { publicKey: new Uint8Array(publicKey), sign: (message) => sign(null, message, key) };
}

interface EntryVector extends Omit<StoredEntry, 'previous'> {
  readonly previous: string;
  readonly encoding: string;
  readonly hash: string;
}

const { entries } = vectors('entries.json') as { readonly entries: readonly EntryVector[] };

describe('entries', () => {
  test.each(entries)('number $seq is encoded and hashed as given, and is valid', ({ encoding, hash, ...fields }) => {
    const entry: StoredEntry = { ...fields, previous: bytes(fields.previous) };
    expect({ encoding: hexOf(encodeEntry(entry)), hash: hexOf(entryHash(entry, sha256)) }).toEqual({ encoding, hash });
    expect(canonicalJson(readEntry(entry).data as unknown as JsonObject)).toBe(entry.data);
  });

  test('form a chain', () => {
    expect(entries.map(({ seq }) => seq)).toEqual([...entries.keys()]);
    expect(entries.map(({ previous }) => previous)).toEqual([
      '00'.repeat(32),
      ...entries.slice(0, -1).map(({ hash }) => hash),
    ]);
  });
});

interface TreeVectors {
  readonly leaves: readonly string[];
  readonly sizes: readonly { readonly size: number; readonly root: string; readonly frontier: readonly string[] }[];
  readonly inclusion: readonly { readonly index: number; readonly size: number; readonly proof: readonly string[] }[];
  readonly consistency: readonly {
    readonly old_size: number;
    readonly new_size: number;
    readonly proof: readonly string[];
  }[];
}

describe('the tree', () => {
  const { leaves, sizes, inclusion, consistency } = vectors('tree.json') as TreeVectors;
  const frontierOf = ({ first, size }: Subtree): Frontier =>
    leaves
      .slice(first, first + size)
      .reduce<Frontier>((frontier, leaf) => addLeaf(frontier, bytes(leaf), { sha256 }), EMPTY_FRONTIER);
  const hashOf = (tree: Subtree): string => hexOf(rootOf(frontierOf(tree), sha256));

  test('begins with the entries', () => {
    expect(leaves.slice(0, entries.length)).toEqual(entries.map(({ hash }) => hash));
    expect(sizes.map(({ size }) => size)).toEqual(Array.from({ length: 17 }, (_, size) => size));
  });

  test.each(sizes)('of size $size has its root and its frontier', ({ size, root, frontier }) => {
    expect(hashOf({ first: 0, size })).toBe(root);
    expect(frontierOf({ first: 0, size })).toEqual({ size, roots: frontier.map(bytes) });
  });

  test.each(inclusion)('proves leaf $index in size $size', ({ index, size, proof }) => {
    expect(inclusionPath(index, { first: 0, size }).map(hashOf)).toEqual(proof);
    const claim = { index, size, leaf: bytes(leaves[index] ?? ''), root: bytes(sizes[size]?.root ?? '') };
    expect(provesInclusion({ ...claim, proof: proof.map(bytes) }, sha256)).toBe(true);
  });

  test.each(consistency)('of size $new_size begins with that of $old_size', ({ old_size, new_size, proof }) => {
    expect(consistencyPath(old_size, new_size).map(hashOf)).toEqual(proof);
    const [oldRoot, newRoot] = [bytes(sizes[old_size]?.root ?? ''), bytes(sizes[new_size]?.root ?? '')];
    const claim = { oldSize: old_size, newSize: new_size, oldRoot, newRoot, proof: proof.map(bytes) };
    expect(provesConsistency(claim, sha256)).toBe(true);
  });
});

interface KeyVector {
  readonly seed: string;
  readonly public_key: string;
  readonly vkey: string;
}

interface CheckpointVector {
  readonly log: KeyVector;
  readonly origin: string;
  readonly size: number;
  readonly root: string;
  readonly text: string;
  readonly note: string;
  readonly witness: KeyVector & { readonly name: string; readonly time: number };
  readonly cosignature: string;
  readonly cosigned_note: string;
}

describe('the checkpoint', () => {
  const vector = vectors('checkpoint.json') as CheckpointVector;
  const { log, origin, size, root, witness } = vector;
  const logKey = { name: origin, type: 1, publicKey: bytes(log.public_key) } as const;
  const witnessKey = { name: witness.name, type: 4, publicKey: bytes(witness.public_key) } as const;

  test('is signed with a key that is spelled as given', () => {
    expect(hexOf(signerOf(log.seed).publicKey)).toBe(log.public_key);
    expect(formatVkey(logKey, sha256)).toBe(log.vkey);
    expect(parseVkey(log.vkey, sha256)).toEqual(logKey);
    const text = checkpointText({ origin, size, root: bytes(root) });
    expect(text).toBe(vector.text);
    expect(signNote(text, origin, { signer: signerOf(log.seed), sha256 })).toBe(vector.note);
  });

  test('is that of the entries', () => {
    const frontier = entries.reduce<Frontier>(
      (grown, { hash }) => addLeaf(grown, bytes(hash), { sha256 }),
      EMPTY_FRONTIER,
    );
    expect({ size: frontier.size, root: hexOf(rootOf(frontier, sha256)), origin: entries[0]?.origin }).toEqual({
      size,
      root,
      origin,
    });
  });

  test('is cosigned with a key that is spelled as given', () => {
    const signer = signerOf(witness.seed);
    expect(hexOf(signer.publicKey)).toBe(witness.public_key);
    expect(formatVkey(witnessKey, sha256)).toBe(witness.vkey);
    expect(parseVkey(witness.vkey, sha256)).toEqual(witnessKey);
    const { name, time } = witness;
    expect(cosign(parseNote(vector.note), { name, time, signer, sha256 })).toBe(vector.cosignature);
    expect(vector.note + vector.cosignature).toBe(vector.cosigned_note);
  });

  test('is read back, and both signatures hold', async () => {
    const { note, checkpoint } = parseCheckpoint(vector.cosigned_note);
    expect(checkpoint).toEqual({ origin, size, root: bytes(root) });
    expect(await isSignedBy(note, logKey, nodeCrypto)).toBe(true);
    expect(await findCosignature(note, witnessKey, nodeCrypto)).toEqual({ witness: witnessKey, time: witness.time });
  });
});

interface KeyStatementVectors {
  readonly root_seed: string;
  readonly root_public_key: string;
  readonly statements: readonly (SignedKeyStatement & { readonly canonical: string })[];
}

describe('statements of the root key', () => {
  const { root_seed, root_public_key, statements } = vectors('key-statements.json') as KeyStatementVectors;
  const root = signerOf(root_seed);

  test.each(statements)('$change $role at $position', async ({ canonical, ...signed }) => {
    const { signature, ...statement } = signed;
    expect(hexOf(root.publicKey)).toBe(root_public_key);
    expect(signKeyStatement(statement, root)).toEqual(signed);
    expect(await isSignedByRoot(signed, root.publicKey, nodeCrypto)).toBe(true);
    const message = canonicalJsonBytes({ format: 'palyra.key/1', ...statement });
    expect(Buffer.from(message).toString()).toBe(canonical);
    expect(hexOf(root.sign(Buffer.from(canonical)))).toBe(signature);
  });

  test('stand in the chain as they were signed', () => {
    const inChain = entries.filter(({ kind }) => kind === 'key.changed').map(({ data }) => JSON.parse(data) as object);
    expect(inChain).toEqual(statements.slice(0, 2).map(({ canonical: _c, origin: _o, ...fields }) => fields));
  });
});

interface CommitmentVector {
  readonly salt: string;
  readonly body: string;
  readonly commitment: string;
}

test.each((vectors('commitments.json') as { readonly commitments: readonly CommitmentVector[] }).commitments)(
  'the body is named $commitment',
  ({ salt, body, commitment }) => {
    expect(hexOf(commitmentOf(bytes(salt), bytes(body), sha256))).toBe(commitment);
  },
);
