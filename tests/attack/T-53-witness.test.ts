// T-53: whoever holds a log, its keys and its database rewrites it, and shows it to a witness that remembers another one.
import { createPrivateKey, createPublicKey, sign } from 'node:crypto';
import { copyFileSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import {
  type CosignRequest,
  createWitness,
  formatVkey,
  type HomeJournal,
  JOURNAL_MIGRATIONS,
  type JournalSchema,
  journalPrograms,
  makeCosignRequest,
  nodeSha256,
  openHomeForReading,
  openHomeForWriting,
  openJournal,
  openWitnessDirectory,
  parseActor,
  parseCheckpoint,
  parseVkey,
  recordCosignature,
  recoverHome,
  refuseOwnLog,
} from '@palyra/journal';
import { createIdSource } from '@palyra/primitives';
import { openDatabase } from '@palyra/storage';
import { createFakeClock, createTemporaryHome } from '@palyra/testkit';
import { expect, test } from 'vitest';
import { signNote } from '../../packages/journal/src/format/signed-note.ts';
import { readSigner } from '../../packages/journal/src/keys/key-file.ts';

const ids = createIdSource();
const OPERATOR = parseActor('user:ada');
const quiet = { error: () => undefined };

function placeOf(root: string): HomeJournal {
  return {
    location: { kind: 'sqlite', path: join(root, 'palyra.db') },
    lockTimeoutMs: 5000,
    keyDirectory: join(root, 'identity'),
    bodyDirectory: join(root, 'bodies'),
  };
}

async function makeJournal(place: HomeJournal): Promise<void> {
  const database = await openDatabase<JournalSchema>({
    ...place,
    migrations: JOURNAL_MIGRATIONS,
    programs: journalPrograms(place.keyDirectory),
    logger: quiet,
  });
  await openJournal({ database, ...place });
  await database.close();
}

async function append(place: HomeJournal, count: number): Promise<void> {
  const writer = await openHomeForWriting(place, quiet);
  for (let at = 0; at < count; at += 1) {
    const data = { run_id: ids.newId('run'), session_id: ids.newId('session'), principal: 'user:ada', calls: at };
    await writer.journal.append(OPERATOR, [{ kind: 'run.ended', data: { ...data, outcome: 'completed' } }]);
  }
  await writer.close();
}

async function request(place: HomeJournal, since: number): Promise<CosignRequest> {
  const reader = await openHomeForReading(place);
  try {
    return await makeCosignRequest({ ...reader, read: reader.database.read }, since);
  } finally {
    await reader.close();
  }
}

function sizeOf({ note }: CosignRequest): number {
  return parseCheckpoint(note).checkpoint.size;
}

/** A log that a witness has seen at `seen` entries, and a copy of its home from before. */
async function setUp() {
  const home = await createTemporaryHome();
  const [root, copy, store] = [join(home.path, 'log'), join(home.path, 'copy'), join(home.path, 'witness')];
  const place = placeOf(root);
  mkdirSync(root, { mode: 0o700 });
  await makeJournal(place);
  await append(place, 5);
  cpSync(root, copy, { recursive: true });
  await append(place, 5);
  const directory = openWitnessDirectory(store, 'elsewhere');
  const witness = createWitness({ ...directory, clock: createFakeClock() });
  const first = await request(place, 0);
  expect(await witness.cosign(first)).toMatchObject({ kind: 'cosigned', size: sizeOf(first) });
  const putBack = () => {
    rmSync(root, { recursive: true });
    cpSync(copy, root, { recursive: true });
  };
  return { home, place, store, witness, directory, seen: sizeOf(first), first, putBack };
}

/** What the log's holder makes of a note with a key of the log in the place of a witness's. */
function selfCosigned(place: HomeJournal, note: string): object {
  const key = createPrivateKey(readFileSync(join(place.keyDirectory, 'journal-checkpoint.key')));
  const der = createPublicKey(key).export({ type: 'spki', format: 'der' });
  const publicKey = new Uint8Array(der.subarray(-32));
  const vkey = formatVkey({ name: 'self', type: 4, publicKey }, nodeSha256);
  const text = note.slice(0, note.indexOf('\n\n') + 1);
  const time = Buffer.alloc(8);
  time.writeBigUInt64BE(1_700_000_000n);
  const signature = sign(null, Buffer.from(`cosignature/v1\ntime 1700000000\n${text}`), key);
  const id = Buffer.from(vkey.split('+')[1] as string, 'hex');
  const line = `\u2014 self ${Buffer.concat([id, time, signature]).toString('base64')}\n`;
  return { format: 'palyra.cosigned/1', note: `${note}${line}`, witness: vkey };
}

function evidenceIn(store: string): readonly { presented: CosignRequest; remembered: { note: string } }[] {
  return readdirSync(store)
    .filter((name) => name.includes('.evidence-'))
    .map((name) => JSON.parse(readFileSync(join(store, name), 'utf8')));
}

test('an older copy put back is refused, and both checkpoints are kept', async () => {
  const { home, place, store, witness, seen, first, putBack } = await setUp();
  await using _ = home;
  putBack();
  const old = await request(place, 0);
  expect(sizeOf(old)).toBeLessThan(seen);
  await expect(witness.cosign(old)).rejects.toMatchObject({
    code: 'journal.not_consistent',
    message: expect.stringMatching(new RegExp(`size ${sizeOf(old)} .* size ${seen}`)),
  });
  expect(evidenceIn(store)).toMatchObject([{ presented: { note: old.note }, remembered: { note: first.note } }]);
});

test('a fork with the same keys is refused at the same size, and at any larger one', async () => {
  const { home, place, store, witness, seen, putBack } = await setUp();
  await using _ = home;
  putBack();
  await append(place, 5);
  const same = await request(place, 0);
  expect(sizeOf(same)).toBe(seen);
  await expect(witness.cosign(same)).rejects.toMatchObject({ code: 'journal.not_consistent' });
  await append(place, 3);
  await expect(witness.cosign(await request(place, seen))).rejects.toMatchObject({ code: 'journal.not_consistent' });
  expect(evidenceIn(store)).toHaveLength(2);
});

test('a forged proof, and one from a size that suits the fork, lead to no cosignature', async () => {
  const { home, place, witness, seen } = await setUp();
  await using _ = home;
  await append(place, 4);
  const honest = await request(place, seen);
  const [head = '', ...tail] = honest.proof;
  for (const proof of [
    [],
    tail,
    [...honest.proof, head],
    [head.replace(/^./, (c) => (c === 'A' ? 'B' : 'A')), ...tail],
  ]) {
    await expect(witness.cosign({ ...honest, proof })).rejects.toMatchObject({ code: 'journal.not_consistent' });
  }
  const elsewhere = { ...(await request(place, seen - 2)) };
  expect(await witness.cosign(elsewhere)).toEqual({ kind: 'needs proof', from: seen });
  expect(await witness.cosign({ ...elsewhere, old_size: 0 })).toEqual({ kind: 'needs proof', from: seen });
  expect(await witness.cosign(honest)).toMatchObject({ kind: 'cosigned' });
});

test('a key that was retired, and stolen, goes on with nothing that a witness saw', async () => {
  const { home, place, witness, seen } = await setUp();
  await using _ = home;
  const file = join(place.keyDirectory, 'journal-checkpoint.key');
  copyFileSync(file, join(home.path, 'stolen.key'));
  const stolen = readSigner(join(home.path, 'stolen.key'));
  const writer = await openHomeForWriting(place, quiet);
  await writer.journal.rotateKey(OPERATOR, 'checkpoint');
  await writer.close();
  const rotated = await request(place, seen);
  expect(await witness.cosign(rotated)).toMatchObject({ kind: 'cosigned' });

  await append(place, 2);
  const next = await request(place, sizeOf(rotated));
  const { note, checkpoint } = parseCheckpoint(next.note);
  const forged = signNote(note.text, checkpoint.origin, { signer: stolen, sha256: nodeSha256 });
  await expect(witness.cosign({ ...next, note: forged })).rejects.toMatchObject({ code: 'journal.key_not_certified' });
  expect(await witness.cosign(next)).toMatchObject({ kind: 'cosigned' });
});

test('an older request that is sent again moves nothing back', async () => {
  const { home, place, witness, seen, first } = await setUp();
  await using _ = home;
  await append(place, 4);
  const later = await request(place, seen);
  await witness.cosign(later);
  await expect(witness.cosign(first)).rejects.toMatchObject({ code: 'journal.not_consistent' });
  await append(place, 1);
  expect(await witness.cosign(await request(place, seen))).toEqual({ kind: 'needs proof', from: sizeOf(later) });
});

test('a log of the same name under another root key is refused', async () => {
  const { home, place, witness, seen } = await setUp();
  await using _ = home;
  await append(place, 2);
  const honest = await request(place, seen);
  const other = openWitnessDirectory(join(home.path, 'other'), 'other').signer;
  const root_key = `palyra-root+${'0'.repeat(8)}+AAAA`;
  await expect(witness.cosign({ ...honest, root_key })).rejects.toMatchObject({ code: 'journal.invalid_key' });
  const forged = formatVkey({ name: 'palyra-root', type: 1, publicKey: other.publicKey }, nodeSha256);
  await expect(witness.cosign({ ...honest, root_key: forged })).rejects.toMatchObject({
    code: 'journal.key_not_certified',
  });
  await expect(
    createWitness({
      ...openWitnessDirectory(join(home.path, 'third'), undefined),
      clock: createFakeClock(),
      pinnedRootKey: other.publicKey,
    }).cosign({ ...honest, old_size: 0, proof: [] }),
  ).rejects.toMatchObject({ code: 'journal.key_not_certified' });
});

test('the home of the log is no witness, with or without its database, and not under the name it left behind', async () => {
  const { home, place, directory, first } = await setUp();
  await using _ = home;
  const rootKey = parseVkey(first.root_key, nodeSha256).publicKey;
  const { origin } = parseCheckpoint(first.note).checkpoint;
  const log = { origin, rootKey, witnessKey: directory.signer.publicKey };
  const own = { code: 'journal.own_log' };
  const judge = async (sought: typeof log) => {
    const reader = await openHomeForReading(place);
    try {
      await refuseOwnLog(sought, { read: reader.database.read, keyDirectory: place.keyDirectory });
    } finally {
      await reader.close();
    }
  };
  await expect(judge(log)).rejects.toMatchObject(own);
  await expect(judge({ ...log, rootKey: directory.signer.publicKey })).rejects.toMatchObject(own);
  await expect(
    judge({ origin: 'palyra/x', rootKey: directory.signer.publicKey, witnessKey: rootKey }),
  ).rejects.toMatchObject(own);
  await expect(refuseOwnLog(log, { read: undefined, keyDirectory: place.keyDirectory })).rejects.toMatchObject(own);
  await recoverHome(place, quiet);
  await expect(judge({ ...log, rootKey: directory.signer.publicKey })).rejects.toMatchObject(own);
  await expect(
    judge({ origin: 'palyra/x', rootKey: directory.signer.publicKey, witnessKey: directory.signer.publicKey }),
  ).resolves.toBeUndefined();
});

test('the log records no cosignature of itself, of another log, or of a tree it never had', async () => {
  const { home, place, witness, seen, putBack } = await setUp();
  await using _ = home;
  await append(place, 2);
  const outcome = await witness.cosign(await request(place, seen));
  if (outcome.kind !== 'cosigned') throw new Error('not cosigned');
  const record = async (answer: object) => {
    const { database, log, proofs, journal, close } = await openHomeForWriting(place, quiet);
    const deps = { read: database.read, log, proofs, append: journal.appendOwn };
    try {
      return await recordCosignature(JSON.stringify(answer), OPERATOR, deps);
    } finally {
      await close();
    }
  };
  expect(await record(outcome.answer)).toMatchObject({ kind: 'recorded', size: outcome.size });
  expect(await record(outcome.answer)).toMatchObject({ kind: 'known' });

  await expect(record(selfCosigned(place, outcome.answer.note))).rejects.toMatchObject({ code: 'journal.own_log' });
  const unsigned = { ...outcome.answer, note: outcome.answer.note.split('\n').slice(0, -2).join('\n').concat('\n') };
  await expect(record(unsigned)).rejects.toMatchObject({ code: 'journal.invalid_note' });

  putBack();
  await expect(record(outcome.answer)).rejects.toMatchObject({ code: 'journal.invalid_note' });
  await append(place, 9);
  await expect(record(outcome.answer)).rejects.toMatchObject({
    code: 'journal.invalid_note',
    message: expect.stringContaining('another log'),
  });
});

test('a recovery does not put another root key in the place of the one that others pinned, unless told to', async () => {
  await using home = await createTemporaryHome();
  const place = placeOf(home.path);
  await makeJournal(place);
  const [key, published] = ['journal-root.key', 'journal-root.pub'].map((name) => join(place.keyDirectory, name));
  const pinned = readFileSync(published as string, 'utf8');
  rmSync(key as string);

  await expect(recoverHome(place, quiet)).rejects.toMatchObject({ code: 'journal.key_missing' });
  expect([existsSync(key as string), readFileSync(published as string, 'utf8')]).toEqual([false, pinned]);
  const { newRootKey } = await recoverHome(place, quiet, { newRootKey: true });
  expect([`${newRootKey}\n` === pinned, readFileSync(published as string, 'utf8')]).toEqual([false, `${newRootKey}\n`]);
});
