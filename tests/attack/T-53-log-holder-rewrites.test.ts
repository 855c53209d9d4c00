// T-53: whoever holds the database and the keys of a journal rewrites it, signs the result, and brings it all back in order.
import { join } from 'node:path';
import { archiveSegments, pruneSegments, sealSegment } from '@palyra/journal';
import { systemClock } from '@palyra/primitives';
import { bodyDirectoryOf, createSampleCalls, SAMPLE_ACTOR } from '@palyra/testkit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { hexOf } from '../../packages/journal/src/format/bytes.ts';
import { cosign, parseCheckpoint } from '../../packages/journal/src/format/checkpoint.ts';
import type { Signer } from '../../packages/journal/src/format/crypto.ts';
import type { NoteKey } from '../../packages/journal/src/format/signed-note.ts';
import { createKeyFile } from '../../packages/journal/src/keys/key-file.ts';
import { nodeSha256 as sha256 } from '../../packages/journal/src/node-crypto.ts';
import {
  type AttackedHome,
  attack,
  findingOf,
  makeTemplate,
  recover,
  rewrite,
  setData,
  type Template,
} from './tampered-home.ts';

let template: Template;
beforeAll(async () => {
  template = await makeTemplate();
});
afterAll(() => template[Symbol.asyncDispose]());

const TIME = 1_760_000_000;

function witnessOf(signer: Signer): NoteKey {
  return { name: 'witness.example', type: 4, publicKey: signer.publicKey };
}

function cosigned(note: string, signer: Signer): string {
  return `${note}${cosign(parseCheckpoint(note).note, { name: 'witness.example', time: TIME, signer, sha256 })}`;
}

/** As `checkpoint.cosigned` records it in the log. */
async function recordCosignature({ use, checkpoint }: AttackedHome, signer: Signer): Promise<void> {
  const parsed = parseCheckpoint(cosigned(await checkpoint(), signer));
  const signature = parsed.note.signatures.at(-1)?.signature ?? new Uint8Array();
  const { size, root } = parsed.checkpoint;
  await use(async ({ journal }) => {
    const data = {
      size,
      root: hexOf(root),
      witness: 'witness.example',
      witness_key: hexOf(signer.publicKey),
      time: TIME,
    };
    await journal.appendOwn(SAMPLE_ACTOR, [
      { kind: 'checkpoint.cosigned', data: { ...data, signature: hexOf(signature.slice(8)) } },
    ]);
  });
}

/** Another past: who decided what, with everything that follows from it signed by the keys in the home. */
function rewriteHistory(home: AttackedHome): void {
  home.tamper((database) => {
    setData(database, 9, { reason_code: 'policy.always' });
    rewrite(database, { checkpoints: home.keys.of('checkpoint'), attestations: home.keys.of('attestation') });
  });
}

test('a past that was rewritten with all keys is signed, and only what others remember exposes it', async () => {
  await using home = await attack(template);
  const known = await home.checkpoint();
  const state = (await home.verify()).logs[0]?.state;
  rewriteHistory(home);

  expect(await home.verify()).toMatchObject({ kind: 'sound', established: { level: 'signed' } });
  expect(findingOf(await home.verify({ checkpoints: [known] }))).toEqual({ code: 'forked', seq: undefined });
  expect(findingOf(await home.verify({}, { start: state }))).toEqual({ code: 'forked', seq: undefined });
});

test('a witness that is elsewhere saw the log as it was, and says so', async () => {
  await using home = await attack(template);
  const signer = createKeyFile(`${home.place.directory}/witness.key`);
  const pins = { witnesses: [witnessOf(signer)], checkpoints: [cosigned(await home.checkpoint(), signer)] };
  expect(await home.verify(pins)).toMatchObject({
    kind: 'sound',
    established: { level: 'witnessed', size: 18, time: TIME, witness: 'witness.example' },
  });

  rewriteHistory(home);
  expect(findingOf(await home.verify(pins))).toEqual({ code: 'forked', seq: undefined });
});

test('a cosignature that the log holds exposes a past rewritten under it', async () => {
  await using home = await attack(template);
  const signer = createKeyFile(`${home.place.directory}/witness.key`);
  await recordCosignature(home, signer);
  const pins = { witnesses: [witnessOf(signer)] };
  expect(await home.verify(pins)).toMatchObject({
    kind: 'sound',
    established: { level: 'witnessed', size: 18, time: TIME, witness: 'witness.example' },
  });

  rewriteHistory(home);
  expect(findingOf(await home.verify(pins))).toEqual({ code: 'forked', seq: undefined });
});

test('what a witness saw is not forgotten by a verification that goes on from an earlier one', async () => {
  await using home = await attack(template);
  const signer = createKeyFile(`${home.place.directory}/witness.key`);
  await recordCosignature(home, signer);
  const pins = { witnesses: [witnessOf(signer)] };
  const start = (await home.verify(pins)).logs[0]?.state;
  await home.use(async ({ journal }) => void (await journal.append(SAMPLE_ACTOR, [createSampleCalls().runEnded(1)])));
  expect(await home.verify(pins, { start })).toMatchObject({
    established: { level: 'witnessed', size: 18, time: TIME, witness: 'witness.example' },
    logs: [{ counts: { entries: 1 } }],
  });
  expect(await home.verify({}, { start })).toMatchObject({ established: { level: 'signed' } });
});

test('a checkpoint from before the earlier verification is still compared', async () => {
  await using home = await attack(template);
  const known = await home.checkpoint();
  const other = await attack(template);
  rewriteHistory(other);
  const forged = await other.checkpoint();
  await other[Symbol.asyncDispose]();
  await home.use(async ({ journal }) => void (await journal.append(SAMPLE_ACTOR, [createSampleCalls().runEnded(1)])));
  const start = (await home.verify()).logs[0]?.state;
  expect(await home.verify({ checkpoints: [known] }, { start })).toMatchObject({
    kind: 'sound',
    logs: [{ counts: { entries: 0 }, remarks: [] }],
  });
  expect(findingOf(await home.verify({ checkpoints: [forged] }, { start }))).toEqual({
    code: 'forked',
    seq: undefined,
  });
});

const WITHOUT_ITS_CHECKPOINT =
  'delete from journal_checkpoints where size < (select max(size) from journal_checkpoints)';

test('it does so, too, when the checkpoint that it is about was taken away', async () => {
  await using home = await attack(template);
  const signer = createKeyFile(join(home.place.directory, 'witness.key'));
  await recordCosignature(home, signer);
  rewriteHistory(home);
  home.tamper((database) => database.exec(WITHOUT_ITS_CHECKPOINT));
  expect(findingOf(await home.verify({ witnesses: [witnessOf(signer)] }))).toMatchObject({ code: 'forked' });
});

test('and taking it away does not take away that the log was witnessed', async () => {
  await using home = await attack(template);
  const signer = createKeyFile(join(home.place.directory, 'witness.key'));
  await recordCosignature(home, signer);
  home.tamper((database) => database.exec(WITHOUT_ITS_CHECKPOINT));
  const report = await home.verify({ witnesses: [witnessOf(signer)] });
  expect(report).toMatchObject({ kind: 'sound', established: { level: 'witnessed', size: 18 } });
});

test('a cosignature that the log holds, but the witness never gave, counts for nothing', async () => {
  await using home = await attack(template);
  const signer = createKeyFile(`${home.place.directory}/witness.key`);
  await recordCosignature(home, signer);
  home.tamper((database) => {
    setData(database, 18, { time: TIME + 60 });
    rewrite(database, { checkpoints: home.keys.of('checkpoint') });
  });
  const report = await home.verify({ witnesses: [witnessOf(signer)] });
  expect(report).toMatchObject({ kind: 'sound', established: { level: 'signed' } });
  expect(report.logs[0]?.remarks).toEqual(['1 cosignatures in the log do not hold.']);
});

test.each(['root', 'checkpoint', 'attestation'] as const)(
  'the %s key of the log is no witness of it, whatever it is called',
  async (role) => {
    await using home = await attack(template);
    const signer = role === 'root' ? home.keys.root() : home.keys.of(role);
    const pins = { witnesses: [witnessOf(signer)], checkpoints: [cosigned(await home.checkpoint(), signer)] };
    const report = await home.verify(pins);
    expect(report).toMatchObject({ kind: 'sound', established: { level: 'signed' } });
    expect(report.logs[0]?.remarks).toEqual([
      'The witness witness.example has a key of the log itself, so it counts for nothing.',
    ]);
  },
);

test('without a pinned root key a witness is only remarked upon', async () => {
  await using home = await attack(template);
  const signer = createKeyFile(`${home.place.directory}/witness.key`);
  const checkpoints = [cosigned(await home.checkpoint(), signer)];
  const report = await home.verify({ witnesses: [witnessOf(signer)], checkpoints }, { isPinned: false });
  expect(report).toMatchObject({ kind: 'sound', established: { level: 'self_consistent' } });
  expect(report.logs[0]?.remarks).toEqual([
    'The witness witness.example saw the log at size 18, but no root key is pinned.',
  ]);
});

test('keys, database and the checkpoint beside them restored together: only a witness elsewhere tells', async () => {
  await using home = await attack(template);
  const signer = createKeyFile(`${home.place.directory}/witness.key`);
  const putBack = await home.backUp();
  const inTheHome = await home.checkpoint();
  await home.use(async ({ journal }) => void (await journal.append(SAMPLE_ACTOR, [createSampleCalls().runEnded(1)])));
  const elsewhere = cosigned(await home.checkpoint(), signer);
  await putBack();

  expect(findingOf(await home.verify({ checkpoints: [inTheHome] }))).toBe('sound');
  expect(findingOf(await home.verify({ witnesses: [witnessOf(signer)], checkpoints: [elsewhere] }))).toEqual({
    code: 'truncated',
    seq: 18,
  });
});

test('a tail that nobody signed is not taken for part of the log', async () => {
  await using home = await attack(template);
  home.tamper((database) => database.exec('delete from journal_checkpoints where size > 13'));
  expect(findingOf(await home.verify())).toEqual({ code: 'tail_unsigned', seq: 13 });
});

test('a log begun anew names the head of the old one, which then cannot be changed either', async () => {
  await using home = await attack(template);
  await recover(home);
  expect(await home.verify()).toMatchObject({
    kind: 'sound',
    established: { level: 'signed' },
    logs: [{ size: 18 }, { size: 3, follows: { size: 18 } }],
  });

  rewriteHistory(home);
  expect(findingOf(await home.verify())).toEqual({ code: 'origin_unlinked', seq: 0 });
});

test.each([
  ['taken away', (table: string) => `delete from journal_${table} where ${numberOf(table)} = 1`],
  ['put behind the new one', moveToThird],
])('a log begun anew does not hide that the old one was %s', async (_what, act) => {
  await using home = await attack(template);
  await recover(home);
  home.tamper((database) => {
    for (const table of ['logs', 'entries', 'checkpoints', 'keys', 'bodies']) database.exec(act(table));
  });
  expect(findingOf(await home.verify())).toEqual({ code: 'origin_unlinked', seq: 0 });
});

function moveToThird(table: string): string {
  const hasId = table === 'entries' || table === 'checkpoints';
  return `update journal_${table} set ${hasId ? 'id = id + (2 << 40)' : `${numberOf(table)} = 3`} where ${numberOf(table)} = 1`;
}

function numberOf(table: string): string {
  return table === 'logs' ? 'number' : 'log';
}

test('a home with another log than the one that was verified before is not the same home', async () => {
  await using home = await attack(template);
  const state = (await home.verify()).logs[0]?.state;
  const known = await home.checkpoint();
  home.tamper((database) => {
    for (const table of ['logs', 'entries', 'checkpoints', 'keys', 'bodies'])
      database.exec(`delete from journal_${table}`);
  });
  await recover(home);
  expect(findingOf(await home.verify({ checkpoints: [known] }))).toEqual({ code: 'forked', seq: undefined });
  expect(findingOf(await home.verify({}, { start: state }))).toEqual({ code: 'forked', seq: undefined });
});

test('a retirement that is taken out of the table of keys is missed, and is not pruned away', async () => {
  await using home = await attack(template);
  await home.use(({ journal }) => journal.rotateKey(SAMPLE_ACTOR, 'checkpoint'));
  expect(findingOf(await home.verify())).toBe('sound');
  home.tamper((database) => database.exec("delete from journal_keys where change = 'retired'"));
  expect(findingOf(await home.verify())).toEqual({ code: 'index_edited', seq: undefined });

  await home.use(async ({ journal, database }) => {
    const directory = join(home.place.directory, 'archive');
    const deps = { database, append: journal.appendOwn, bodyDirectory: undefined, clock: systemClock };
    await sealSegment(deps, { entries: 1, ageMs: 0 });
    await archiveSegments({ ...deps, bodyDirectory: bodyDirectoryOf(home.place) }, directory).catch(() => []);
    await expect(pruneSegments(deps, { directory, olderThanMs: 0 })).rejects.toMatchObject({
      code: 'journal.cannot_prune',
    });
  });
});
