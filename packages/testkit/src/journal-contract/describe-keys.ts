import { cp, rename, rm } from 'node:fs/promises';
import {
  type Journal,
  type JournalSchema,
  type KeyRole,
  openJournal,
  openJournalKeys,
  recoverHome,
} from '@palyra/journal';
import type { Database } from '@palyra/storage';
import { describe, expect } from 'vitest';
import { journalFaults } from './check-journal.ts';
import type { MakeJournalPlace } from './describe-journal-contract.ts';
import {
  bodyDirectoryOf,
  type JournalPlace,
  keyDirectoryOf,
  openJournalDatabase,
  openJournalHome,
} from './journal-home.ts';
import { journalTest } from './journal-test.ts';
import { attestSampleCall, createSampleCalls, SAMPLE_ACTOR } from './sample-calls.ts';

const ROLES: readonly KeyRole[] = ['checkpoint', 'attestation'];
const QUIET = { error: () => undefined };
const calls = createSampleCalls();

export function describeKeys(makePlace: MakeJournalPlace): void {
  const test = journalTest(makePlace);

  describe('keys', () => {
    test('both keys are rotated under load, and everything verifies afterwards', async ({ home, place }) => {
      const { journal } = home;
      const before = publicKeys(place);
      let rotating = true;
      const load = Array.from({ length: 6 }, async (_, writer) => {
        for (let i = 0; rotating || i < 5; i += 1) {
          if (writer % 2 === 0) await journal.append(SAMPLE_ACTOR, [calls.runEnded(i)]);
          else await attestSampleCall(journal, calls, { input: `${i}`, output: 'x', ...inTurns(i) });
        }
      });
      for (const role of [...ROLES, ...ROLES]) await journal.rotateKey(SAMPLE_ACTOR, role);
      rotating = false;
      await Promise.all(load);

      const after = publicKeys(place);
      expect(ROLES.filter((role) => before[role] === after[role])).toEqual([]);
      const { entries } = await journal.query({ kinds: ['key.changed'] });
      expect(entries.map(({ data }) => (data as { change: string }).change)).toEqual([
        'activated',
        'activated',
        ...ROLES.flatMap(() => ['activated', 'retired', 'activated', 'retired']),
      ]);
      expect(await journalFaults(place)).toEqual([]);
    });

    test.for(ROLES.flatMap((role) => [0, 1, 2, 3].map((commits) => [role, commits] as const)))(
      'a rotation of the %s key that died after %i commits harms nothing',
      async ([role, commits], { place }) => {
        const first = await openJournalHome(place);
        await first[Symbol.asyncDispose]();
        await rotateAndDie(place, role, commits);

        await using home = await openJournalHome(place);
        await home.journal.append(SAMPLE_ACTOR, [calls.runEnded(1)]);
        await attestSampleCall(home.journal, calls, { input: 'ls', output: 'x' });
        await home.journal.rotateKey(SAMPLE_ACTOR, role);
        expect(await activeKeys(home.journal, role)).toBe(1);
        await attestSampleCall(home.journal, calls, { input: 'ls', output: 'x' });
        expect(await journalFaults(place)).toEqual([]);
      },
    );

    test('a retired key that is put back signs nothing, for whoever has the database open', async ({ home, place }) => {
      const file = openJournalKeys(keyDirectoryOf(place)).fileOf('checkpoint');
      await cp(file, `${place.directory}/old`);
      await home.journal.append(SAMPLE_ACTOR, [calls.runEnded(1)]);
      await home.journal.rotateKey(SAMPLE_ACTOR, 'checkpoint');
      await rename(file, `${place.directory}/new`);
      await rename(`${place.directory}/old`, file);
      await expect(home.journal.append(SAMPLE_ACTOR, [calls.runEnded(1)])).rejects.toMatchObject({
        code: 'journal.key_not_certified',
      });
      await rename(`${place.directory}/new`, file);
      await home.journal.append(SAMPLE_ACTOR, [calls.runEnded(1)]);
      expect(await journalFaults(place)).toEqual([]);
    });

    test('another process rotates the attestation key while calls are attested', async ({ home, place }) => {
      await using other = await openJournalHome(place);
      let isOver = false;
      const attest = async () => {
        for (let i = 0; !isOver; i += 1) {
          await attestSampleCall(home.journal, calls, { input: 'ls', output: 'x', ...inTurns(i) });
        }
      };
      const attesting = [attest(), attest(), attest()];
      for (let times = 0; times < 3; times += 1) await other.journal.rotateKey(SAMPLE_ACTOR, 'attestation');
      isOver = true;
      await Promise.all(attesting);
      expect(await journalFaults(place)).toEqual([]);
    });

    test('without the root key nothing is rotated, and everything else goes on', async ({ home, place }) => {
      const root = openJournalKeys(keyDirectoryOf(place));
      expect(root.hasLog()).toBe(true);
      const file = `${keyDirectoryOf(place)}/journal-root.key`;
      await rename(file, `${place.directory}/elsewhere`);
      await expect(home.journal.rotateKey(SAMPLE_ACTOR, 'checkpoint')).rejects.toMatchObject({
        code: 'journal.key_missing',
      });
      await home.journal.append(SAMPLE_ACTOR, [calls.runEnded(1)]);
      await rename(`${place.directory}/elsewhere`, file);
      expect(await journalFaults(place)).toEqual([]);
    });

    test('a key that the root did not certify opens nothing and signs nothing', async ({ home, place }) => {
      const stranger = await makePlace();
      const other = await openJournalHome(stranger);
      await other[Symbol.asyncDispose]();
      const file = openJournalKeys(keyDirectoryOf(place)).fileOf('checkpoint');
      await rename(file, `${place.directory}/ours`);
      await cp(openJournalKeys(keyDirectoryOf(stranger)).fileOf('checkpoint'), file);

      const before = await home.journal.checkpoint();
      await expect(home.journal.append(SAMPLE_ACTOR, [calls.runEnded(1)])).rejects.toMatchObject({
        code: 'journal.key_not_certified',
      });
      expect(await home.journal.checkpoint()).toBe(before);
      await expect(openJournalHome(place)).rejects.toMatchObject({ code: 'journal.key_not_certified' });

      await rename(`${place.directory}/ours`, file);
      expect(await home.journal.append(SAMPLE_ACTOR, [calls.runEnded(1)])).toMatchObject({ kind: 'appended' });
      expect(await journalFaults(place)).toEqual([]);
      await stranger.remove();
    });
  });

  describe('recovery', () => {
    test('a recovered log has a new origin, names the old head, and both verify', async ({ place }) => {
      const old = await openJournalHome(place);
      await old.journal.append(SAMPLE_ACTOR, [calls.runEnded(1)]);
      const [, size = '', root = ''] = (await old.journal.checkpoint()).split('\n');
      await old[Symbol.asyncDispose]();

      const recovered = await recoverHome(homeOf(place), QUIET);
      expect(recovered).toEqual({ origin: expect.any(String), previous: old.journal.origin });
      expect(recovered.origin).not.toBe(old.journal.origin);
      await using home = await openJournalHome(place);
      expect(home.journal.origin).toBe(recovered.origin);
      await home.journal.append(SAMPLE_ACTOR, [calls.runEnded(2)]);
      const { entries } = await home.journal.query({});
      expect(entries.map(({ seq }) => seq)).toEqual([0, 1, 2, 3]);
      expect(entries[0]?.data).toMatchObject({
        reason: 'recovered',
        previous_origin: old.journal.origin,
        previous_size: Number(size),
        previous_root: Buffer.from(root, 'base64').toString('hex'),
      });
      expect(await journalFaults(place)).toEqual([]);
    });

    test('a recovery while somebody appends either names the very head, or does not happen', async ({ place }) => {
      const home = await openJournalHome(place);
      let isOver = false;
      const append = async () => {
        while (!isOver) await home.journal.append(SAMPLE_ACTOR, [calls.runEnded(1)]).catch(() => undefined);
      };
      const appending = [append(), append()];
      for (let times = 0; times < 5; times += 1) await recoverHome(homeOf(place), QUIET).catch(() => undefined);
      isOver = true;
      await Promise.all(appending);
      await home[Symbol.asyncDispose]();
      expect(await journalFaults(place)).toEqual([]);
    });

    test('a body of the log before a recovery can be erased, and both logs verify', async ({ place }) => {
      const old = await openJournalHome(place);
      const { facts } = await attestSampleCall(old.journal, calls, { input: 'ls', output: 'x' });
      await old[Symbol.asyncDispose]();
      await recoverHome(homeOf(place), QUIET);
      await using home = await openJournalHome(place);
      await home.journal.erase(SAMPLE_ACTOR, facts.input_sha256, 'operator');
      expect(await journalFaults(place)).toEqual([]);
    });

    test('an empty database beside the keys of a log is refused until it is recovered', async ({ place }) => {
      const kept = await openJournalHome(place);
      await kept[Symbol.asyncDispose]();
      const empty = await makePlace();
      const robbed: JournalPlace = { location: empty.location, directory: place.directory };
      await expect(openJournalHome(robbed)).rejects.toMatchObject({ code: 'journal.no_log' });
      expect(await recoverHome(homeOf(robbed), QUIET)).toEqual({ origin: expect.any(String) });
      const home = await openJournalHome(robbed);
      await home.journal.append(SAMPLE_ACTOR, [calls.runEnded(1)]);
      expect(await journalFaults(robbed)).toEqual([]);
      await home[Symbol.asyncDispose]();
      await empty.remove();
    });

    test('a database whose keys are gone is refused', async ({ place }) => {
      const kept = await openJournalHome(place);
      await kept[Symbol.asyncDispose]();
      await rm(keyDirectoryOf(place), { recursive: true });
      await expect(openJournalHome(place)).rejects.toMatchObject({ code: 'journal.key_missing' });
    });
  });
}

async function activeKeys(journal: Journal, role: KeyRole): Promise<number> {
  const { entries } = await journal.query({ kinds: ['key.changed'], limit: 1000 });
  const changes = entries.flatMap(({ kind, data }) =>
    kind === 'key.changed' && data.role === role ? [data.change] : [],
  );
  return (
    changes.filter((change) => change === 'activated').length - changes.filter((change) => change === 'retired').length
  );
}

/** Signed by whoever asks for it, or by the writer. */
function inTurns(i: number): { readonly inOneCommit?: true } {
  return i % 2 === 0 ? {} : { inOneCommit: true };
}

function publicKeys(place: JournalPlace): Record<KeyRole, string> {
  const keys = openJournalKeys(keyDirectoryOf(place));
  const of = (role: KeyRole) => Buffer.from(keys.of(role).publicKey).toString('hex');
  return { checkpoint: of('checkpoint'), attestation: of('attestation') };
}

function homeOf(place: JournalPlace) {
  const { location } = place;
  return { location, lockTimeoutMs: 5_000, keyDirectory: keyDirectoryOf(place), bodyDirectory: bodyDirectoryOf(place) };
}

/** As if the process had been killed once so many units were committed: nobody hears of the last, nothing follows. */
async function rotateAndDie(place: JournalPlace, role: KeyRole, commits: number): Promise<void> {
  const database = (await openJournalDatabase(place)) as unknown as Database<JournalSchema>;
  const died = Promise.withResolvers<void>();
  let left = commits;
  const dying: Database<JournalSchema> = {
    ...database,
    async commit(unit) {
      const outcome = left > 0 ? await database.commit(unit) : undefined;
      left -= 1;
      if (outcome !== undefined && left > 0) return outcome;
      died.resolve();
      return new Promise(() => undefined);
    },
  };
  const journal: Journal = await openJournal({
    database: dying,
    keyDirectory: keyDirectoryOf(place),
    bodyDirectory: bodyDirectoryOf(place),
  });
  void journal.rotateKey(SAMPLE_ACTOR, role);
  await died.promise;
  await database.close();
}
