// T-31: the journal is edited, reordered, cut, rolled back or forked, or signed by a key that did not count.
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { attestSampleCall, createSampleCalls, SAMPLE_ACTOR } from '@palyra/testkit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createKeyFile, readSigner } from '../../packages/journal/src/keys/key-file.ts';
import {
  type AttackedHome,
  attack,
  copyEntry,
  entriesOf,
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

test('a journal that nobody touched is sound, and signed by the pinned key', async () => {
  await using home = await attack(template);
  expect(await home.verify()).toMatchObject({
    kind: 'sound',
    established: { level: 'signed' },
    logs: [
      {
        size: 18,
        counts: { entries: 18, checkpoints: 8, attestations: 3, bodies: { checked: 11, erased: 0, leftOut: 0 } },
        remarks: [],
      },
    ],
  });
});

async function afterwards(tamper: (database: DatabaseSync) => void): Promise<ReturnType<typeof findingOf>> {
  await using home = await attack(template);
  home.tamper(tamper);
  return findingOf(await home.verify());
}

describe('an edited field of an entry is found', () => {
  test.each([
    ['log', 'id = id + (1 << 40)', 'entry_missing'],
    ['seq', 'id = (1 << 40) + 50', 'entry_missing'],
    ['at', 'at = at + 1', 'entry_edited'],
    ['at, to what no program can read', 'at = 1152921504606846976', 'entry_malformed'],
    ['at, to before 1970', 'at = -1', 'entry_malformed'],
    ['actor', "actor = 'user:eve'", 'entry_edited'],
    ['kind', "kind = 'decision'", 'entry_edited'],
    ['version', 'version = 2', 'entry_edited'],
    ['data', "data = replace(data, 'sandbox_tier_c', 'none')", 'entry_edited'],
    ['data, by a space', "data = data || ' '", 'entry_edited'],
    ['hash', 'hash = zeroblob(32)', 'entry_edited'],
    ['hash, cut', 'hash = substr(hash, 1, 31)', 'entry_edited'],
    ['run_id', "run_id = '01ARZ3NDEKTSV4RRFFQ69G5FAV'", 'index_edited'],
    ['session_id', 'session_id = null', 'index_edited'],
    ['call_id', "call_id = '01ARZ3NDEKTSV4RRFFQ69G5FAV'", 'index_edited'],
    ['principal', "principal = 'user:eve'", 'index_edited'],
    ['tool', "tool = 'fs.read'", 'index_edited'],
    ['outcome', "outcome = 'completed'", 'index_edited'],
  ])('%s', async (_column, edit, code) => {
    expect(await afterwards((db) => db.exec(`update journal_entries set ${edit} where log = 1 and seq = 5`))).toEqual({
      code,
      seq: 5,
    });
  });

  test('an entry that is stored with its new hash breaks the link of the next one', async () => {
    const found = await afterwards((db) => {
      setData(db, 9, { reason_code: 'policy.other' });
      const kept = entriesOf(db);
      rewrite(db);
      for (const { seq, hash } of kept.filter((row) => row.seq !== 9)) {
        db.prepare('update journal_entries set hash = ? where log = 1 and seq = ?').run(hash, seq);
      }
    });
    expect(found).toEqual({ code: 'entry_edited', seq: 10 });
  });

  test('a chain that is made anew is not the one that was signed', async () => {
    const found = await afterwards((db) => {
      setData(db, 17, { calls: 2 });
      rewrite(db);
    });
    expect(found).toEqual({ code: 'checkpoint_wrong', seq: 17 });
  });
});

test.each([
  ['an entry', 'journal_entries', 5, { code: 'entry_missing', seq: 5 }],
  ['the last checkpoint', 'journal_checkpoints', 18, { code: 'tail_unsigned', seq: 17 }],
])('a schema in which %s shows another number is found', async (_what, table, shown, found) => {
  const edit = (db: DatabaseSync) => {
    db.enableDefensive(false);
    db.exec('pragma writable_schema = on');
    const number = 'id & 1099511627775';
    db.prepare('update sqlite_schema set sql = replace(sql, ?, ?) where name = ?').run(
      number,
      `case ${number} when ${shown} then 3 else ${number} end`,
      table,
    );
  };
  expect(await afterwards(edit)).toEqual(found);
});

function shift(db: DatabaseSync, from: number, by: number): void {
  db.exec(`update journal_entries set id = -(id + ${by}) where log = 1 and seq >= ${from}`);
  db.exec('update journal_entries set id = -id where id < 0');
}

describe('entries that are not where they were are found', () => {
  test('one removed', async () => {
    const found = await afterwards((db) => db.exec('delete from journal_entries where seq = 9'));
    expect(found).toEqual({ code: 'entry_missing', seq: 9 });
  });

  test('one removed, and the others moved up', async () => {
    const found = await afterwards((db) => {
      db.exec('delete from journal_entries where seq = 9');
      shift(db, 10, -1);
    });
    expect(found).toEqual({ code: 'entry_edited', seq: 9 });
  });

  test('one removed, and everything made anew', async () => {
    const found = await afterwards((db) => {
      db.exec('delete from journal_entries where seq = 17');
      rewrite(db);
    });
    expect(found).toEqual({ code: 'entry_missing', seq: 17 });
  });

  test('all removed', async () => {
    expect(await afterwards((db) => db.exec('delete from journal_entries'))).toEqual({ code: 'entry_missing', seq: 0 });
  });

  test('one inserted between others', async () => {
    const found = await afterwards((db) => {
      shift(db, 5, 1);
      copyEntry(db, 17, 5);
    });
    expect(found).toEqual({ code: 'entry_edited', seq: 5 });
  });

  test('one added at the end, linked but not signed', async () => {
    const found = await afterwards((db) => {
      copyEntry(db, 17, 18);
      rewrite(db);
    });
    expect(found).toEqual({ code: 'tail_unsigned', seq: 18 });
  });

  test.each([
    ['before the first', -1, { code: 'entry_repeated', seq: -1 }],
    ['far after the last', 400, { code: 'entry_missing', seq: 18 }],
  ])('one added %s', async (_where, seq, found) => {
    expect(await afterwards((db) => copyEntry(db, 17, seq))).toEqual(found);
  });

  test.each([
    ['where no number reaches', '9223372036854775807'],
    ['before all numbers', '-9223372036854775808'],
    ['to a log that there is not', '(2 << 40) + 3'],
  ])('one added %s', async (_where, id) => {
    expect(await afterwards((db) => copyEntry(db, 17, { id }))).toEqual({ code: 'entry_missing', seq: 18 });
  });

  test('two reordered', async () => {
    const found = await afterwards((db) => {
      for (const [from, to] of [
        [4, 100],
        [5, 4],
        [100, 5],
      ]) {
        db.exec(`update journal_entries set id = (1 << 40) + ${to} where seq = ${from}`);
      }
    });
    expect(found).toEqual({ code: 'entry_edited', seq: 4 });
  });

  test('one duplicated', async () => {
    const found = await afterwards((db) => {
      shift(db, 6, 1);
      copyEntry(db, 5, 6);
    });
    expect(found).toEqual({ code: 'entry_edited', seq: 6 });
  });
});

function cutTo(db: DatabaseSync, size: number): void {
  db.exec(`delete from journal_entries where seq >= ${size}; delete from journal_checkpoints where size > ${size}`);
  rewrite(db);
}

describe('against a checkpoint that is known, it is found that', () => {
  test('the tail was cut off, which the rest alone does not show', async () => {
    await using home = await attack(template);
    const known = await home.checkpoint();
    home.tamper((db) => cutTo(db, 13));
    expect(findingOf(await home.verify())).toBe('sound');
    expect(findingOf(await home.verify({ checkpoints: [known] }))).toEqual({ code: 'truncated', seq: 13 });
  });

  test('the tail was cut off without the note of how long the log was', async () => {
    const found = await afterwards((db) =>
      db.exec('delete from journal_entries where seq >= 13; delete from journal_checkpoints where size > 13'),
    );
    expect(found).toEqual({ code: 'entry_missing', seq: 13 });
  });

  test('an older copy of the database was put back', async () => {
    await using home = await attack(template);
    const putBack = await home.backUp();
    await goOn(home, 2);
    const known = await home.checkpoint();
    const state = stateOf(await home.verify());
    await putBack();

    expect(findingOf(await home.verify({ checkpoints: [known] }))).toEqual({ code: 'truncated', seq: 18 });
    expect(findingOf(await home.verify({}, { start: state }))).toEqual({ code: 'truncated', seq: 18 });
  });

  test('an older copy was put back and went on, so that there are two logs of one name', async () => {
    await using home = await attack(template);
    const putBack = await home.backUp();
    await goOn(home, 2);
    const known = await home.checkpoint();
    const state = stateOf(await home.verify());
    await putBack();
    await goOn(home, 3);

    expect(findingOf(await home.verify())).toBe('sound');
    expect(findingOf(await home.verify({ checkpoints: [known] }))).toEqual({ code: 'forked', seq: undefined });
    expect((await home.verify({}, { start: state })).kind).toBe('broken');
  });
});

async function goOn({ use }: AttackedHome, entries: number): Promise<void> {
  await use(async ({ journal }) => {
    const calls = createSampleCalls();
    for (let at = 0; at < entries; at += 1) await journal.append(SAMPLE_ACTOR, [calls.runEnded(at)]);
  });
}

function stateOf(report: Awaited<ReturnType<AttackedHome['verify']>>) {
  const log = report.logs.at(-1);
  if (log === undefined) throw new Error('There is no sound log.');
  return log.state;
}

async function attestOneMore({ use }: AttackedHome): Promise<void> {
  await use(
    async ({ journal }) =>
      void (await attestSampleCall(journal, createSampleCalls(), { input: 'git diff', output: 'nothing' })),
  );
}

describe('a key that did not count at a place signs nothing there', () => {
  test('the attestation key that was retired', async () => {
    await using home = await attack(template);
    const retired = readSigner(home.keys.fileOf('attestation'));
    await home.use(({ journal }) => journal.rotateKey(SAMPLE_ACTOR, 'attestation'));
    expect(findingOf(await home.verify())).toBe('sound');
    // A whole call after the rotation, attested with the old key: entries 20 to 24.
    await attestOneMore(home);
    expect(findingOf(await home.verify())).toBe('sound');
    home.tamper((db) => rewrite(db, { checkpoints: home.keys.of('checkpoint'), attestations: retired }));
    expect(findingOf(await home.verify())).toEqual({ code: 'attestation_unsigned', seq: 24 });
  });

  test('the checkpoint key that was retired', async () => {
    await using home = await attack(template);
    const retired = readSigner(home.keys.fileOf('checkpoint'));
    await home.use(({ journal }) => journal.rotateKey(SAMPLE_ACTOR, 'checkpoint'));
    await goOn(home, 1);
    expect(findingOf(await home.verify())).toBe('sound');
    home.tamper((db) => rewrite(db, { checkpoints: retired }));
    expect(findingOf(await home.verify())).toEqual({ code: 'checkpoint_unsigned', seq: 19 });
  });

  test('a key that nobody certified', async () => {
    await using home = await attack(template);
    const own = createKeyFile(join(home.place.directory, 'own.key'));
    home.tamper((db) => rewrite(db, { checkpoints: own }));
    expect(findingOf(await home.verify())).toEqual({ code: 'checkpoint_unsigned', seq: 0 });
  });

  test('a key that the attacker certified', async () => {
    await using home = await attack(template);
    const own = createKeyFile(join(home.place.directory, 'own.key'));
    home.tamper((db) => {
      setData(db, 1, { public_key: Buffer.from(own.publicKey).toString('hex') });
      rewrite(db, { checkpoints: own, attestations: home.keys.of('attestation') });
    });
    expect(findingOf(await home.verify())).toEqual({ code: 'key_uncertified', seq: 1 });
  });

  test('a root key of the attacker', async () => {
    await using home = await attack(template);
    const own = Buffer.from(createKeyFile(join(home.place.directory, 'own.key')).publicKey).toString('hex');
    home.tamper((db) => db.prepare('update journal_logs set root_key = ?').run(own));
    expect(findingOf(await home.verify())).toEqual({ code: 'root_differs', seq: undefined });
    expect(findingOf(await home.verify({ rootKey: new Uint8Array(Buffer.from(own, 'hex')) }))).toEqual({
      code: 'head_edited',
      seq: 0,
    });
  });
});

describe('a checkpoint that is not the one that was signed is found', () => {
  test.each([
    ['another size', "note = replace(note, char(10) || '11' || char(10), char(10) || '12' || char(10))"],
    ['no note', "note = ''"],
    ['no signature', 'note = substr(note, 1, instr(note, char(10) || char(10)) + 1)'],
    ['another origin', "note = 'palyra/other' || substr(note, instr(note, char(10)))"],
  ])('%s', async (_what, edit) => {
    const found = await afterwards((db) => db.exec(`update journal_checkpoints set ${edit} where size = 11`));
    expect(found).toEqual({ code: 'checkpoint_malformed', seq: 8 });
  });

  test('the note of another size', async () => {
    const found = await afterwards((db) =>
      db.exec(
        'update journal_checkpoints set note = (select note from journal_checkpoints where size = 8) where size = 11',
      ),
    );
    expect(found).toEqual({ code: 'checkpoint_malformed', seq: 8 });
  });

  test('a signature of another checkpoint', async () => {
    const found = await afterwards((db) =>
      db.exec(`update journal_checkpoints set note = substr(note, 1, instr(note, char(10) || char(10)) + 1) ||
        (select substr(note, instr(note, char(10) || char(10)) + 2) from journal_checkpoints where size = 8) where size = 11`),
    );
    expect(found).toEqual({ code: 'checkpoint_unsigned', seq: 8 });
  });

  test('the last one removed', async () => {
    const found = await afterwards((db) => db.exec('delete from journal_checkpoints where size = 18'));
    expect(found).toEqual({ code: 'tail_unsigned', seq: 17 });
  });

  test('one about entries that are not there', async () => {
    const found = await afterwards((db) =>
      db.exec('update journal_checkpoints set id = (1 << 40) + 40 where size = 18'),
    );
    expect(found).toEqual({ code: 'checkpoint_malformed', seq: 17 });
  });
});

test.each(['size = 17', 'head = zeroblob(32)', "frontier = x''"])(
  'an edited note of where the log ends is found: %s',
  async (edit) => {
    const found = await afterwards((db) => db.exec(`update journal_logs set ${edit}`));
    expect(found).toEqual({ code: 'head_edited', seq: undefined });
  },
);
