import { attestationIn, isEnvelopeSignedBy, nodeCrypto, openEnvelope, openJournalKeys } from '@palyra/journal';
import { statement } from '@palyra/storage';
import { describe, expect } from 'vitest';
import { journalFaults } from './check-journal.ts';
import type { MakeJournalPlace } from './describe-journal-contract.ts';
import { type JournalHome, keyDirectoryOf } from './journal-home.ts';
import { journalTest } from './journal-test.ts';
import { attestSampleCall, createSampleCalls, SAMPLE_ACTOR } from './sample-calls.ts';

const calls = createSampleCalls();

export function describeAttesting(makePlace: MakeJournalPlace): void {
  const test = journalTest(makePlace);

  describe('attesting', () => {
    test.for([
      ['an executed call', { input: 'ls', output: 'a file\n' }, 'completed'],
      ['a refusal', { input: 'rm -rf /' }, 'refused'],
      ['a call in one commit', { input: 'ls', output: 'a file\n', inOneCommit: true }, 'completed'],
    ] as const)(
      '%s has an outcome and a signed attestation, next to each other',
      async ([, call, kind], { home, place }) => {
        const { outcome, facts } = await attestSampleCall(home.journal, calls, call);
        if (outcome.kind === 'conflict') throw new Error('There was nothing to conflict with.');
        const [before, attested] = (await home.journal.query({ cursor: outcome.journal_seq - 2, limit: 2 })).entries;
        expect(before).toMatchObject({ kind: 'outcome', data: { outcome: kind, call_id: facts.call_id } });
        expect(attested).toMatchObject({ kind: 'attestation', data: { attestation_id: outcome.attestation_id } });

        const commitment = (attested?.data as { envelope: string } | undefined)?.envelope ?? '';
        const text = Buffer.from((await home.journal.bodies.read(commitment)).bytes).toString();
        const envelope = openEnvelope(text);
        const { publicKey } = openJournalKeys(keyDirectoryOf(place)).of('attestation');
        expect(await isEnvelopeSignedBy(envelope, publicKey, nodeCrypto)).toBe(true);
        const intents = await home.journal.query({ call: facts.call_id, kinds: ['intent'] });
        expect(attestationIn(envelope)).toEqual({
          ...intents.entries.reduce((_, { seq, hash }) => ({ anchor: { kind: 'intent', seq, hash } }), {}),
          ...facts,
          origin: home.journal.origin,
          attestation_id: outcome.attestation_id,
          execution_sha256: outcome.execution_sha256,
        });
        expect(await journalFaults(place)).toEqual([]);
      },
    );

    test('a call is attested once, and as the chain says', async ({ home, place }) => {
      const { facts } = await attestSampleCall(home.journal, calls, { input: 'ls', output: 'x' });
      const again = home.journal.attest(SAMPLE_ACTOR, { facts, drafts: [] });
      await expect(again).rejects.toMatchObject({ code: 'journal.attested_before' });

      const { run_id, session_id, principal, tool } = facts;
      const ids = { run_id, session_id, principal, tool, call_id: calls.call().call_id };
      const draft = { kind: 'outcome', data: { ...ids, outcome: 'failed' } } as const;
      const other = home.journal.attest(SAMPLE_ACTOR, { facts: { ...facts, ...ids }, drafts: [draft] });
      await expect(other).rejects.toMatchObject({ code: 'journal.invalid_entry' });
      expect(await journalFaults(place)).toEqual([]);
    });

    test('a call in one commit is under one checkpoint, and its intent is its own', async ({ home, place }) => {
      const { journal } = home;
      const before = sizeOf(await journal.checkpoint());
      const { facts } = await attestSampleCall(journal, calls, { input: 'ls', output: 'x', inOneCommit: true });
      const { entries } = await journal.query({ cursor: before - 1, limit: 10 });
      expect(entries.map(({ kind }) => kind)).toEqual(['proposal', 'decision', 'intent', 'outcome', 'attestation']);
      const { read } = home.database;
      const sizes = await read.selectFrom('journal_checkpoints').select('size').where('size', '>', before).execute();
      expect(sizes).toEqual([{ size: before + 5 }]);

      const again = journal.attest(SAMPLE_ACTOR, { facts, drafts: [] });
      await expect(again).rejects.toMatchObject({ code: 'journal.invalid_entry' });
      const { run_id, session_id, call_id, principal, tool, policy_snapshot_sha256: policy_snapshot } = facts;
      const own = { run_id, session_id, call_id, principal, tool, executor: 'none', policy_snapshot };
      const ofAnother = { kind: 'intent', data: { ...own, call_id: calls.call().call_id } } as const;
      const moved = journal.attest(SAMPLE_ACTOR, { facts, drafts: [ofAnother] });
      await expect(moved).rejects.toMatchObject({ code: 'journal.invalid_entry' });
      const twice = journal.attest(SAMPLE_ACTOR, { facts, drafts: [{ kind: 'intent', data: own }] });
      await expect(twice).rejects.toMatchObject({ code: 'journal.attested_before' });
      expect(sizeOf(await journal.checkpoint())).toBe(before + 5);
      expect(await journalFaults(place)).toEqual([]);
    });

    test('what only the journal says about itself is not taken from others', async ({ home: { journal } }) => {
      const draft = { kind: 'segment.sealed', data: { first: 0, next: 1, root: 'a'.repeat(64) } };
      await expect(journal.append(SAMPLE_ACTOR, [draft as never])).rejects.toMatchObject({
        code: 'journal.invalid_entry',
      });
    });

    test('a conflict beside it leaves neither an outcome nor an attestation', async ({ home, place }) => {
      const take = statement(home.database.write.deleteFrom('accounts').where('id', '=', 'nobody'), { rows: 1 });
      const call = { input: 'ls', output: 'x', steps: [take] };
      for (const each of [call, { ...call, inOneCommit: true } as const]) {
        const { outcome } = await attestSampleCall(home.journal, calls, each);
        expect(outcome).toEqual({ kind: 'conflict', step: 0 });
      }
      expect(await kindsIn(home)).not.toContain('outcome');
      expect(await kindsIn(home)).not.toContain('attestation');
      expect(await journalFaults(place)).toEqual([]);
    });

    test('an attestation that contradicts itself is refused, and nothing is written', async ({ home }) => {
      const { facts } = await attestSampleCall(home.journal, calls, { input: 'ls', output: 'x' });
      const before = await kindsIn(home);
      const twisted = { ...facts, sandbox_enforcement: 'not_executed' } as const;
      await expect(home.journal.attest('user:ada' as never, { facts: twisted, drafts: [] })).rejects.toMatchObject({
        code: 'journal.invalid_envelope',
      });
      expect(await kindsIn(home)).toEqual(before);
    });
  });
}

function sizeOf(checkpoint: string): number {
  return Number(checkpoint.split('\n')[1]);
}

async function kindsIn({ journal }: JournalHome): Promise<readonly string[]> {
  return (await journal.query({ limit: 1000 })).entries.map(({ kind }) => kind);
}
