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
import { bytesOfHex, hexOf } from './format/bytes.ts';
import { cosign, parseCheckpoint } from './format/checkpoint.ts';
import { createKeyFile } from './keys/key-file.ts';
import { nodeCrypto, nodeSha256 } from './node-crypto.ts';
import type { JournalSchema } from './store/journal-schema.ts';
import { type ExportReport, verifyExport } from './verify/verify-export.ts';
import { type ExportOptions, writeExport } from './write-export.ts';

const NO_PINS = { witnesses: [], checkpoints: [] };

/** Large enough that a body is in a file, and others are in rows. */
const INLINE = 100;

async function openSample() {
  const home = await createTemporaryHome();
  const place = { directory: home.path, location: { kind: 'sqlite', path: join(home.path, 'palyra.db') } } as const;
  const { database, journal } = await openJournalHome(place, { inlineBytes: INLINE });
  const calls = createSampleCalls();
  const attest = async (output?: string) =>
    attestSampleCall(journal, calls, { input: 'what was asked', ...(output === undefined ? {} : { output }) });
  const read = database.read as unknown as ReadQueries<JournalSchema>;
  const lines = (options: ExportOptions) => writeExport({ read, bodyDirectory: bodyDirectoryOf(place) }, options);
  const exported = async (options: ExportOptions) => {
    let text = '';
    for await (const line of lines(options)) text += line;
    return text;
  };
  const rootKey = bytesOfHex((await logRow()).root_key) as Uint8Array;
  async function logRow() {
    return read.selectFrom('journal_logs').selectAll().executeTakeFirstOrThrow();
  }
  return {
    home,
    journal,
    attest,
    lines,
    exported,
    rootKey,
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

const verify = (text: string, pins: object = {}): Promise<ExportReport> =>
  verifyExport(text, { crypto: nodeCrypto, pins: { ...NO_PINS, ...pins } });

test('a whole log with refusals, large bodies, a rotation and an erasure verifies from its export', async () => {
  const { facts } = await sample.attest('short');
  await sample.attest('a longer output '.repeat(100));
  await sample.attest();
  await sample.journal.rotateKey(SAMPLE_ACTOR, 'checkpoint');
  await sample.journal.rotateKey(SAMPLE_ACTOR, 'attestation');
  await sample.journal.erase(SAMPLE_ACTOR, facts.input_sha256, 'request');
  await sample.attest('after the rotation');

  const text = await sample.exported({ bodies: true });
  expect(await verify(text, { rootKey: sample.rootKey })).toMatchObject({
    kind: 'sound',
    of: 'range',
    first: 0,
    established: { level: 'signed' },
    counts: { attestations: 4, bodies: { checked: 14, erased: 1, leftOut: 0 } },
  });
  expect(text).not.toContain(Buffer.from('what was asked').toString('hex'));
});

test('without bodies they are counted as left out, and nothing of them is in the file', async () => {
  await sample.attest('secret output');
  const text = await sample.exported({ bodies: false });
  expect(await verify(text)).toMatchObject({ kind: 'sound', counts: { bodies: { checked: 0, erased: 0 } } });
  for (const secret of ['what was asked', 'secret output']) expect(text).not.toContain(btoa(secret));
});

test('parts of a log verify one after the other, and only in their order', async () => {
  await sample.attest('one');
  const { checkpoint } = parseCheckpoint(await sample.journal.checkpoint());
  await sample.attest('two');
  const first = await verify(await sample.exported({ bodies: true, to: checkpoint.size }));
  const second = await sample.exported({ bodies: true, from: checkpoint.size });
  if (first.kind !== 'sound' || first.of !== 'range') throw new Error('The first part does not verify.');

  expect(first.size).toBe(checkpoint.size);
  const options = { crypto: nodeCrypto, pins: NO_PINS, start: first.state };
  const report = await verifyExport(second, options);
  expect(report).toMatchObject({ kind: 'sound', first: checkpoint.size });
  const whole = await verify(await sample.exported({ bodies: true }));
  expect(report).toMatchObject({ root: (whole as { root: string }).root });

  const missed = await verifyExport(second, { ...options, start: { ...first.state, size: 3 } });
  expect(missed).toMatchObject({ kind: 'broken', finding: { code: 'entry_missing', seq: 3 } });
  const known = await verifyExport(await sample.exported({ bodies: true }), options);
  expect(known).toMatchObject({
    kind: 'sound',
    counts: { entries: whole.kind === 'sound' ? whole.size - first.size : 0 },
  });
  const keys = first.state.keys.slice(1);
  const forgotten = await verifyExport(second, { ...options, start: { ...first.state, keys } });
  expect(forgotten).toMatchObject({ kind: 'broken', finding: { code: 'forked' } });
});

test('a body that was erased after the end of a part is neither there nor called missing', async () => {
  const from = parseCheckpoint(await sample.journal.checkpoint()).checkpoint.size;
  const { facts } = await sample.attest('one');
  const { checkpoint } = parseCheckpoint(await sample.journal.checkpoint());
  await sample.journal.erase(SAMPLE_ACTOR, facts.input_sha256, 'request');
  const part = await verify(await sample.exported({ bodies: true, from, to: checkpoint.size }));
  expect(part).toMatchObject({
    kind: 'sound',
    counts: { bodies: { leftOut: 1, erased: 0 } },
    remarks: [
      `Entries before ${from} are not here; only their hashes are known.`,
      '1 bodies are said to be erased by entries that were not looked at here.',
      'Whether a key was retired before it signed can only be seen in the log itself.',
    ],
  });
});

test('a selection calls a body erased only if it holds the entry that erased it', async () => {
  const { facts } = await sample.attest('one');
  await sample.journal.erase(SAMPLE_ACTOR, facts.input_sha256, 'request');
  const alone = await sample.exported({ bodies: true, filter: { call: facts.call_id } });
  expect(await verify(alone)).toMatchObject({
    kind: 'sound',
    counts: { bodies: { checked: 3, leftOut: 1, erased: 0 } },
    remarks: [
      'The entries are in the log; that no other entry matches the filter is not proven.',
      'Whether a key was retired before it signed can only be seen in the log itself.',
      '1 bodies are said to be erased by entries that were not looked at here.',
    ],
  });
  const { seq } = JSON.parse(alone.split('\n').find((line) => line.includes('"kind":"proposal"')) ?? '{}');
  const both = await sample.exported({ bodies: true, filter: { kinds: ['proposal', 'body.erased'] }, from: seq });
  expect(await verify(both)).toMatchObject({ kind: 'sound', counts: { bodies: { leftOut: 0, erased: 1 } } });
  const backwards = both.replace(/"erased_by":\d+/, '"erased_by":0');
  expect(await verify(backwards)).toMatchObject({ kind: 'broken', finding: { code: 'body_missing', seq } });
});

test('a selection proves each of its entries under one checkpoint', async () => {
  await sample.attest('one');
  const { facts } = await sample.attest('two');
  const text = await sample.exported({ bodies: true, filter: { call: facts.call_id } });
  expect(await verify(text, { rootKey: sample.rootKey })).toMatchObject({
    kind: 'sound',
    of: 'selection',
    filter: { call: facts.call_id },
    established: { level: 'signed' },
    counts: { entries: 5, attestations: 1, bodies: { checked: 4 } },
  });
  const kinds = await sample.exported({
    bodies: false,
    filter: { call: facts.call_id, kinds: ['decision', 'intent'] },
  });
  expect(await verify(kinds)).toMatchObject({ kind: 'sound', counts: { entries: 2 } });
});

test('a selection says when a witness saw the log that it is from', async () => {
  await sample.attest('one');
  const note = await sample.journal.checkpoint();
  const { checkpoint, note: signed } = parseCheckpoint(note);
  const signer = createKeyFile(join(sample.home.path, 'witness.key'));
  const line = cosign(signed, { name: 'witness.example', time: 1_700_000_000, signer, sha256: nodeSha256 });
  const signature = Buffer.from(line.trim().split(' ')[2] ?? '', 'base64').subarray(12);
  await sample.journal.appendOwn(SAMPLE_ACTOR, [
    {
      kind: 'checkpoint.cosigned',
      data: {
        size: checkpoint.size,
        root: hexOf(checkpoint.root),
        witness: 'witness.example',
        witness_key: hexOf(signer.publicKey),
        time: 1_700_000_000,
        signature: signature.toString('hex'),
      },
    },
  ]);
  const text = await sample.exported({ bodies: false, filter: { kinds: ['attestation'] } });
  const witness = { name: 'witness.example', type: 4, publicKey: signer.publicKey } as const;
  expect(await verify(text, { rootKey: sample.rootKey, witnesses: [witness] })).toMatchObject({
    kind: 'sound',
    established: { level: 'witnessed', size: checkpoint.size, time: 1_700_000_000, witness: 'witness.example' },
  });
  const own = { name: 'witness.example', type: 4, publicKey: sample.rootKey } as const;
  expect(await verify(text, { rootKey: sample.rootKey, witnesses: [own] })).toMatchObject({
    established: { level: 'signed' },
  });
});

test('what was appended after the export began is not in it', async () => {
  const before = parseCheckpoint(await sample.journal.checkpoint()).checkpoint.size;
  const lines = sample.lines({ bodies: false });
  const first = (await lines.next()).value;
  await sample.attest('later');
  let text = `${first}`;
  for await (const line of lines) text += line;
  expect(await verify(text)).toMatchObject({ kind: 'sound', size: before });
});

test('a place that is no checkpoint, or is not in the log, cannot be exported', async () => {
  await expect(sample.exported({ bodies: false, to: 2 })).rejects.toMatchObject({ code: 'journal.not_found' });
  await expect(sample.exported({ bodies: false, from: 9999 })).rejects.toMatchObject({ code: 'journal.not_found' });
});
