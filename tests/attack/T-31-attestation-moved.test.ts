// T-31: an attestation is forged, or moved to another call, by attackers without keys and with some of them.
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createKeyFile } from '../../packages/journal/src/keys/key-file.ts';
import {
  attack,
  copyEntry,
  dataOf,
  findingOf,
  makeTemplate,
  rewrite,
  setData,
  type Template,
} from './tampered-home.ts';

let template: Template;
beforeAll(async () => {
  template = await makeTemplate();
});
afterAll(() => template[Symbol.asyncDispose]());

async function afterwards(tamper: (database: DatabaseSync) => void): Promise<ReturnType<typeof findingOf>> {
  await using home = await attack(template);
  home.tamper(tamper);
  return findingOf(await home.verify());
}

describe('an attestation that is not about its call is found', () => {
  test('moved to another call, the chain made anew', async () => {
    const found = await afterwards((db) => {
      const { envelope, execution, attestation_id } = dataOf(db, 7);
      setData(db, 12, { envelope, execution, attestation_id });
      rewrite(db);
    });
    // The checkpoint after it does not hold either, but this is the first that is wrong.
    expect(found).toEqual({ code: 'attestation_moved', seq: 12 });
  });

  test('moved with everything that the entry says about it', async () => {
    const found = await afterwards((db) => {
      setData(db, 12, dataOf(db, 7));
      rewrite(db);
    });
    expect(found).toEqual({ code: 'attestation_moved', seq: 12 });
  });

  test('its entry pointing at the intent of another call', async () => {
    const found = await afterwards((db) => {
      const { anchor, anchor_seq } = dataOf(db, 7);
      setData(db, 12, { anchor, anchor_seq });
      rewrite(db);
    });
    expect(found).toEqual({ code: 'attestation_moved', seq: 12 });
  });

  test('while its call became another', async () => {
    const found = await afterwards((db) => {
      for (const seq of [8, 9, 10, 11, 12]) setData(db, seq, { tool: 'fs.read' });
      rewrite(db);
    });
    // The intent has another hash now than was signed.
    expect(found).toEqual({ code: 'checkpoint_wrong', seq: 8 });
  });

  test('while its output became another, by an attacker who signs checkpoints', async () => {
    await using home = await attack(template);
    home.tamper((db) => {
      setData(db, 11, { output: dataOf(db, 6)['output'] });
      rewrite(db, { checkpoints: home.keys.of('checkpoint') });
    });
    expect(findingOf(await home.verify())).toEqual({ code: 'attestation_moved', seq: 12 });
  });

  test('while its input became another, by an attacker who signs checkpoints', async () => {
    await using home = await attack(template);
    home.tamper((db) => {
      setData(db, 8, { input: dataOf(db, 3)['input'] });
      rewrite(db, { checkpoints: home.keys.of('checkpoint') });
    });
    expect(findingOf(await home.verify())).toEqual({ code: 'attestation_moved', seq: 12 });
  });

  test('while what was decided about it became another, by an attacker who signs checkpoints', async () => {
    await using home = await attack(template);
    home.tamper((db) => {
      setData(db, 9, { reason_code: 'policy.always' });
      rewrite(db, { checkpoints: home.keys.of('checkpoint') });
    });
    expect(findingOf(await home.verify())).toEqual({ code: 'attestation_moved', seq: 12 });
  });

  test('forged by an attacker who signs checkpoints', async () => {
    await using home = await attack(template);
    const own = createKeyFile(join(home.place.directory, 'own.key'));
    home.tamper((db) => rewrite(db, { checkpoints: home.keys.of('checkpoint'), attestations: own }));
    expect(findingOf(await home.verify())).toEqual({ code: 'attestation_unsigned', seq: 7 });
  });

  test('attested twice', async () => {
    const found = await afterwards((db) => {
      copyEntry(db, 7, 18);
      rewrite(db);
    });
    expect(found).toEqual({ code: 'attestation_moved', seq: 18 });
  });

  test.each([
    ['the signature', "replace(body, substr(body, length(body) - 20, 4), 'AAAA')"],
    ['nothing but a text', "cast('{}' as blob)"],
  ])('with an envelope in which an attacker changed %s', async (_what, changed) => {
    const found = await afterwards((db) => {
      const envelope = String(dataOf(db, 7)['envelope']);
      db.prepare(`update journal_bodies set body = cast(${changed} as blob) where commitment = ?`).run(envelope);
      db.prepare('update journal_bodies set bytes = length(body) where commitment = ?').run(envelope);
    });
    expect(found).toEqual({ code: 'body_swapped', seq: 7 });
  });
});
