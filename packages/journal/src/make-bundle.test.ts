import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ReadQueries } from '@palyra/storage';
import {
  attestSampleCall,
  bodyDirectoryOf,
  createSampleCalls,
  createTemporaryHome,
  openJournalHome,
  SAMPLE_ACTOR,
} from '@palyra/testkit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { bytesOfHex, hexOf, utf8 } from './format/bytes.ts';
import { cosign, parseCheckpoint } from './format/checkpoint.ts';
import { signNote } from './format/signed-note.ts';
import { createKeyFile, readSigner } from './keys/key-file.ts';
import { makeBundle } from './make-bundle.ts';
import { nodeCrypto, nodeSha256 } from './node-crypto.ts';
import type { JournalSchema } from './store/journal-schema.ts';
import type { VerifyPins } from './verify/report.ts';
import { type VerifyBundleOptions, verifyBundle } from './verify/verify-bundle.ts';

const NO_PINS = { witnesses: [], checkpoints: [] };

async function openSample() {
  const home = await createTemporaryHome();
  const place = { directory: home.path, location: { kind: 'sqlite', path: join(home.path, 'palyra.db') } } as const;
  const { database, journal } = await openJournalHome(place, { inlineBytes: 100 });
  const calls = createSampleCalls();
  const read = database.read as unknown as ReadQueries<JournalSchema>;
  const log = await read.selectFrom('journal_logs').selectAll().executeTakeFirstOrThrow();
  return {
    home,
    journal,
    rootKey: bytesOfHex(log.root_key) as Uint8Array,
    attest: (output?: string) =>
      attestSampleCall(journal, calls, { input: 'the input', ...(output === undefined ? {} : { output }) }),
    bundle: (callId: string, { bodies = true } = {}) =>
      makeBundle({ read, bodyDirectory: bodyDirectoryOf(place) }, callId, { bodies }),
    async [Symbol.asyncDispose]() {
      await database.close();
      await home[Symbol.asyncDispose]();
    },
  };
}

/** One home for all: opening it takes longer than everything that is done with it. */
let sample: Awaited<ReturnType<typeof openSample>>;
beforeAll(async () => {
  sample = await openSample();
});
afterAll(() => sample[Symbol.asyncDispose]());

type Held = Pick<VerifyBundleOptions, 'input' | 'output'>;

const verify = (text: string, { pins = {}, ...options }: Held & { readonly pins?: Partial<VerifyPins> } = {}) =>
  verifyBundle(text, { crypto: nodeCrypto, ...options, pins: { ...NO_PINS, ...pins } });

test('the bundle of a call verifies alone, and says what was established', async () => {
  const { facts, outcome } = await sample.attest('the output '.repeat(50));
  await sample.attest('another');
  const text = await sample.bundle(facts.call_id);
  const report = await verify(text, { pins: { rootKey: sample.rootKey } });
  expect(report).toMatchObject({
    kind: 'sound',
    established: { level: 'signed' },
    journal_seq: outcome.kind === 'attested' ? outcome.journal_seq : -1,
    attestation: facts,
    input: 'checked',
    output: 'checked',
  });
  expect(await verify(text)).toMatchObject({ kind: 'sound', established: { level: 'self_consistent' } });
});

test('a refusal has a bundle too, without an output', async () => {
  const { facts } = await sample.attest();
  expect(await verify(await sample.bundle(facts.call_id))).toMatchObject({
    kind: 'sound',
    attestation: { sandbox_enforcement: 'not_executed', anchor: { kind: 'decision' } },
    output: 'none',
  });
});

test('without bodies their salts are there, so that whoever has a body can check it', async () => {
  const { facts } = await sample.attest('the output');
  const text = await sample.bundle(facts.call_id, { bodies: false });
  expect(text).not.toContain(btoa('the output'));
  expect(await verify(text)).toMatchObject({ kind: 'sound', input: 'salt only', output: 'salt only' });
  const held = { input: utf8('the input'), output: utf8('the output') };
  expect(await verify(text, held)).toMatchObject({ kind: 'sound', input: 'checked', output: 'checked' });
  expect(await verify(text, { input: utf8('another input') })).toMatchObject({
    kind: 'broken',
    finding: { code: 'body_swapped' },
  });
});

test('a body that was erased is left out, and the rest still verifies', async () => {
  const { facts } = await sample.attest('the output');
  await sample.journal.erase(SAMPLE_ACTOR, facts.input_sha256, 'request');
  expect(await verify(await sample.bundle(facts.call_id))).toMatchObject({
    kind: 'sound',
    input: 'left out',
    output: 'checked',
  });
});

test('keys that were rotated in between are certified in the bundle', async () => {
  const { facts } = await sample.attest('before');
  await sample.journal.rotateKey(SAMPLE_ACTOR, 'attestation');
  await sample.journal.rotateKey(SAMPLE_ACTOR, 'checkpoint');
  const report = await verify(await sample.bundle(facts.call_id), { pins: { rootKey: sample.rootKey } });
  expect(report).toMatchObject({ kind: 'sound', established: { level: 'signed' } });
});

test('a checkpoint key that the bundle says was retired before has signed nothing in it', async () => {
  const file = join(sample.home.path, 'identity', 'journal-checkpoint.key');
  copyFileSync(file, join(sample.home.path, 'stolen.key'));
  const stolen = readSigner(join(sample.home.path, 'stolen.key'));
  await sample.journal.rotateKey(SAMPLE_ACTOR, 'checkpoint');
  const { facts } = await sample.attest('after');
  const bundle = JSON.parse(await sample.bundle(facts.call_id)) as { checkpoint: string };
  const { note, checkpoint } = parseCheckpoint(bundle.checkpoint);
  const forged = signNote(note.text, checkpoint.origin, { signer: stolen, sha256: nodeSha256 });
  expect(await verify(JSON.stringify({ ...bundle, checkpoint: forged }))).toMatchObject({
    kind: 'broken',
    finding: { code: 'checkpoint_unsigned' },
  });
});

test('the newest checkpoint that a witness cosigned is taken, with its cosignature', async () => {
  const { facts } = await sample.attest('before');
  const { note, checkpoint } = parseCheckpoint(await sample.journal.checkpoint());
  const signer = createKeyFile(join(sample.home.path, 'witness.key'));
  const line = cosign(note, { name: 'witness.example', time: 1_700_000_000, signer, sha256: nodeSha256 });
  const signature = Buffer.from(line.trim().split(' ')[2] ?? '', 'base64').subarray(12);
  const cosigned = {
    size: checkpoint.size,
    root: hexOf(checkpoint.root),
    witness: 'witness.example',
    time: 1_700_000_000,
    witness_key: hexOf(signer.publicKey),
    signature: signature.toString('hex'),
  };
  await sample.journal.appendOwn(SAMPLE_ACTOR, [{ kind: 'checkpoint.cosigned', data: cosigned }]);
  const later = await sample.attest('after');

  const witness = { name: 'witness.example', type: 4, publicKey: signer.publicKey } as const;
  const pins = { rootKey: sample.rootKey, witnesses: [witness] };
  expect(await verify(await sample.bundle(facts.call_id), { pins })).toMatchObject({
    kind: 'sound',
    size: checkpoint.size,
    established: { level: 'witnessed', size: checkpoint.size, time: 1_700_000_000, witness: 'witness.example' },
  });
  expect(await verify(await sample.bundle(later.facts.call_id), { pins })).toMatchObject({
    kind: 'sound',
    established: { level: 'signed' },
  });
});

test('of more cosignatures than a note may have, the newest come along', async () => {
  const { facts } = await sample.attest('before');
  const { note, checkpoint } = parseCheckpoint(await sample.journal.checkpoint());
  const signer = createKeyFile(join(sample.home.path, 'busy-witness.key'));
  const name = 'witness.busy';
  const times = Array.from({ length: 70 }, (_, at) => 1_700_000_000 + at);
  for (const time of times) {
    const line = cosign(note, { name, time, signer, sha256: nodeSha256 });
    const signature = Buffer.from(line.trim().split(' ')[2] ?? '', 'base64').subarray(12);
    const data = {
      size: checkpoint.size,
      root: hexOf(checkpoint.root),
      witness: name,
      time,
      witness_key: hexOf(signer.publicKey),
      signature: signature.toString('hex'),
    };
    await sample.journal.appendOwn(SAMPLE_ACTOR, [{ kind: 'checkpoint.cosigned', data }]);
  }
  const pins = { rootKey: sample.rootKey, witnesses: [{ name, type: 4, publicKey: signer.publicKey } as const] };
  expect(await verify(await sample.bundle(facts.call_id), { pins })).toMatchObject({
    kind: 'sound',
    established: { level: 'witnessed', size: checkpoint.size, time: times.at(-1) },
  });
});

test('a checkpoint that is remembered with another root at the same size shows a fork', async () => {
  const { facts } = await sample.attest('before');
  const text = await sample.bundle(facts.call_id);
  const note = await sample.journal.checkpoint();
  const [origin, size, root = ''] = note.split('\n');
  const other = note.replace(root, Buffer.alloc(32, 7).toString('base64'));
  expect(await verify(text, { pins: { checkpoints: [note] } })).toMatchObject({
    kind: 'sound',
    origin,
    size: Number(size),
  });
  expect(await verify(text, { pins: { checkpoints: [other] } })).toMatchObject({ finding: { code: 'forked' } });
});

test('a call without an attestation has no bundle', async () => {
  await expect(sample.bundle(createSampleCalls().call().call_id)).rejects.toMatchObject({ code: 'journal.not_found' });
});
