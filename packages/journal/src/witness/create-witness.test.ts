import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createFakeClock, createTemporaryHome } from '@palyra/testkit';
import { expect, test } from 'vitest';
import { base64Of, hexOf, utf8 } from '../format/bytes.ts';
import { checkpointText, findCosignature, parseCheckpoint } from '../format/checkpoint.ts';
import type { Signer } from '../format/crypto.ts';
import { type SignedKeyStatement, signKeyStatement } from '../format/key-statement.ts';
import { consistencyPath, type Subtree } from '../format/merkle-proof.ts';
import { addLeaf, EMPTY_FRONTIER, rootOf } from '../format/merkle-tree.ts';
import { parseVkey, signNote } from '../format/signed-note.ts';
import { rootVkey } from '../keys/journal-keys.ts';
import { createKeyFile } from '../keys/key-file.ts';
import { nodeCrypto, nodeSha256 } from '../node-crypto.ts';
import type { CosignRequest } from './cosign-request.ts';
import { createWitness } from './create-witness.ts';
import { openWitnessDirectory } from './witness-directory.ts';

const ORIGIN = 'palyra/01TEST';

interface Keys {
  readonly root: Signer;
  readonly checkpoint: Signer;
  readonly next: Signer;
}

function makeKeys(directory: string): Keys {
  const key = (name: string) => createKeyFile(join(directory, name));
  return { root: key('root'), checkpoint: key('checkpoint'), next: key('next') };
}

function leaves(size: number, seed = 'a'): readonly Uint8Array[] {
  return Array.from({ length: size }, (_, at) => nodeSha256(utf8(`${seed}${at}`)));
}

function rootOfLeaves(hashes: readonly Uint8Array[]): Uint8Array {
  return rootOf(
    hashes.reduce((frontier, hash) => addLeaf(frontier, hash, { sha256: nodeSha256 }), EMPTY_FRONTIER),
    nodeSha256,
  );
}

interface Wanted {
  readonly size: number;
  readonly since?: number;
  readonly seed?: string;
  readonly signer?: Signer;
  readonly statements?: readonly SignedKeyStatement[];
}

function activated({ root, checkpoint }: Keys): SignedKeyStatement {
  const public_key = hexOf(checkpoint.publicKey);
  return signKeyStatement({ origin: ORIGIN, change: 'activated', role: 'checkpoint', public_key, position: 0 }, root);
}

function request(keys: Keys, { size, since = 0, seed, signer, statements }: Wanted): CosignRequest {
  const hashes = leaves(size, seed);
  const subtree = ({ first, size: count }: Subtree) => rootOfLeaves(hashes.slice(first, first + count));
  const text = checkpointText({ origin: ORIGIN, size, root: rootOfLeaves(hashes) });
  return {
    format: 'palyra.checkpoint/1',
    note: signNote(text, ORIGIN, { signer: signer ?? keys.checkpoint, sha256: nodeSha256 }),
    root_key: rootVkey(keys.root.publicKey),
    keys: statements ?? [activated(keys)],
    old_size: since,
    proof: since === 0 ? [] : consistencyPath(since, size).map((tree) => base64Of(subtree(tree))),
  };
}

async function setUp() {
  const home = await createTemporaryHome();
  const store = join(home.path, 'witness');
  const directory = openWitnessDirectory(store, 'w1');
  const clock = createFakeClock(1_700_000_000_500);
  const open = (pinnedRootKey?: Uint8Array) =>
    createWitness({ ...directory, clock, ...(pinnedRootKey === undefined ? {} : { pinnedRootKey }) });
  return { home, store, directory, open, witness: open(), keys: makeKeys(home.path) };
}

function files(store: string, ending: string): readonly string[] {
  return readdirSync(store).filter((name) => name.includes(ending));
}

test('the first checkpoint is cosigned, and what is said about trust is true', async () => {
  const { home, witness, directory, keys } = await setUp();
  await using _ = home;
  const outcome = await witness.cosign(request(keys, { size: 5 }));
  expect(outcome).toMatchObject({
    kind: 'cosigned',
    origin: ORIGIN,
    size: 5,
    time: 1_700_000_000,
    rootKey: 'first use',
  });
  if (outcome.kind !== 'cosigned') return;
  expect(outcome.answer.trusted_on_first_use).toBe(true);
  const { note } = parseCheckpoint(outcome.answer.note);
  const key = parseVkey(directory.vkey, nodeSha256);
  expect(await findCosignature(note, key, nodeCrypto)).toEqual({ witness: key, time: 1_700_000_000 });
});

test('a log that goes on is cosigned, from exactly the size that was seen', async () => {
  const { home, witness, keys } = await setUp();
  await using _ = home;
  await witness.cosign(request(keys, { size: 5 }));
  expect(await witness.cosign(request(keys, { size: 9 }))).toEqual({ kind: 'needs proof', from: 5 });
  expect(await witness.cosign(request(keys, { size: 9, since: 4 }))).toEqual({ kind: 'needs proof', from: 5 });
  expect(await witness.cosign(request(keys, { size: 9, since: 5 }))).toMatchObject({ size: 9, rootKey: 'remembered' });
  expect(await witness.cosign(request(keys, { size: 9, since: 3 }))).toMatchObject({ kind: 'cosigned', size: 9 });
  expect(await witness.cosign(request(keys, { size: 12, since: 5 }))).toEqual({ kind: 'needs proof', from: 9 });
});

test('a witness that has seen nothing takes no proof from somewhere', async () => {
  const { home, witness, keys } = await setUp();
  await using _ = home;
  expect(await witness.cosign(request(keys, { size: 9, since: 5 }))).toEqual({ kind: 'needs proof', from: 0 });
});

test.each([
  ['shorter', { size: 4 }, 'an older copy'],
  ['of the same size with another root', { size: 5, seed: 'b' }, 'a fork'],
  ['longer on another past', { size: 9, since: 5, seed: 'b' }, 'the proof does not hold'],
])('a log that is %s is refused, and both checkpoints are kept', async (_name, wanted, why) => {
  const { home, store, witness, keys } = await setUp();
  await using _ = home;
  await witness.cosign(request(keys, { size: 5 }));
  const bad = request(keys, wanted);
  await expect(witness.cosign(bad)).rejects.toMatchObject({
    code: 'journal.not_consistent',
    message: expect.stringMatching(new RegExp(`size ${wanted.size} .* size 5: .*${why}`)),
  });
  const [evidence = ''] = files(store, 'evidence');
  expect(JSON.parse(readFileSync(join(store, evidence), 'utf8'))).toMatchObject({
    remembered: { note: request(keys, { size: 5 }).note },
    presented: { note: bad.note },
  });
  expect(statSync(join(store, evidence)).mode & 0o777).toBe(0o600);
  expect(await witness.cosign(request(keys, { size: 9, since: 5 }))).toMatchObject({ kind: 'cosigned', size: 9 });
});

test('a checkpoint counts only with a key that the root certified for its size', async () => {
  const { home, witness, keys } = await setUp();
  await using _ = home;
  const refused = { code: 'journal.key_not_certified' };
  await expect(witness.cosign(request(keys, { size: 5, signer: keys.next }))).rejects.toMatchObject(refused);
  await expect(witness.cosign(request(keys, { size: 5, statements: [] }))).rejects.toMatchObject(refused);
  const forged = signKeyStatement({ ...activated(keys) }, keys.next);
  await expect(witness.cosign(request(keys, { size: 5, statements: [forged] }))).rejects.toMatchObject(refused);
  const retired = signKeyStatement({ ...activated(keys), change: 'retired', position: 4 }, keys.root);
  const statements = [activated(keys), retired];
  await expect(witness.cosign(request(keys, { size: 5, statements }))).rejects.toMatchObject(refused);
  // What the request says stands before the checkpoint: the key was retired already.
  await expect(witness.cosign(request(keys, { size: 4, statements }))).rejects.toMatchObject(refused);
  expect(await witness.cosign(request(keys, { size: 4 }))).toMatchObject({ kind: 'cosigned' });
});

test('a retirement that was seen cannot be left out later', async () => {
  const { home, witness, keys } = await setUp();
  await using _ = home;
  const fresh = signKeyStatement(
    { ...activated(keys), public_key: hexOf(keys.next.publicKey), position: 3 },
    keys.root,
  );
  const retired = signKeyStatement({ ...activated(keys), change: 'retired', position: 4 }, keys.root);
  await witness.cosign(request(keys, { size: 6, signer: keys.next, statements: [activated(keys), fresh, retired] }));
  await expect(
    witness.cosign(request(keys, { size: 8, since: 6, statements: [activated(keys), fresh] })),
  ).rejects.toMatchObject({ code: 'journal.not_consistent', message: expect.stringContaining('keys') });
});

test('the root key is the pinned one, and stays the one that was seen', async () => {
  const { home, open, witness, keys } = await setUp();
  await using _ = home;
  await expect(open(keys.next.publicKey).cosign(request(keys, { size: 2 }))).rejects.toMatchObject({
    code: 'journal.key_not_certified',
  });
  expect(await open(keys.root.publicKey).cosign(request(keys, { size: 2 }))).toMatchObject({ rootKey: 'pinned' });
  const other: Keys = { ...keys, root: keys.next };
  await expect(witness.cosign(request(other, { size: 3, since: 2 }))).rejects.toMatchObject({
    code: 'journal.not_consistent',
    message: expect.stringContaining('another root key'),
  });
});

test('what is remembered is on the disk before the cosignature leaves', async () => {
  const { home, store, directory, keys } = await setUp();
  await using _ = home;
  const signed: string[] = [];
  const signer: Signer = {
    publicKey: directory.signer.publicKey,
    sign(message) {
      signed.push(readFileSync(join(store, files(store, '.json')[0] as string), 'utf8'));
      return directory.signer.sign(message);
    },
  };
  const witness = createWitness({ ...directory, signer, clock: createFakeClock() });
  const wanted = request(keys, { size: 5 });
  await witness.cosign(wanted);
  expect(signed.map((text) => (JSON.parse(text) as { note: string }).note)).toEqual([wanted.note]);
});

test('while one looks at a log, another waits its turn', async () => {
  const { home, store, directory, witness, keys } = await setUp();
  await using _ = home;
  await directory.store.holding(ORIGIN, async () => {
    await expect(witness.cosign(request(keys, { size: 5 }))).rejects.toMatchObject({
      code: 'journal.witness_store',
      fix: expect.stringContaining('.lock'),
    });
  });
  expect(files(store, '.lock')).toEqual([]);
  expect(await witness.cosign(request(keys, { size: 5 }))).toMatchObject({ kind: 'cosigned' });
});

test.each(['', '{}', '{"format":"palyra.witness/1"}', '\u0000'])(
  'a damaged memory (%j) is no empty one',
  async (text) => {
    const { home, store, witness, keys } = await setUp();
    await using _ = home;
    await witness.cosign(request(keys, { size: 5 }));
    writeFileSync(join(store, files(store, '.json')[0] as string), text);
    await expect(witness.cosign(request(keys, { size: 6, since: 5 }))).rejects.toMatchObject({
      code: 'journal.witness_store',
    });
  },
);

test('the key and the name of a witness stay', async () => {
  const { home, store, directory } = await setUp();
  await using _ = home;
  expect(openWitnessDirectory(store, undefined)).toMatchObject({ name: 'w1', vkey: directory.vkey, isNew: false });
  expect(() => openWitnessDirectory(store, 'w2')).toThrow(expect.objectContaining({ code: 'journal.invalid_key' }));
  expect(existsSync(join(store, 'witness.pub'))).toBe(true);
});
