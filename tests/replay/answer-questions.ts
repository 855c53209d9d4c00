import type { Client, PendingApproval } from '@palyra/client';
import { openSigner } from '../../apps/cli/src/questions/answer-question.ts';
import { readPrompt } from '../../apps/cli/src/questions/shown-prompt.ts';
import type { PalyradProcess } from '../palyrad-process.ts';
import type { RecordedCall } from './recorded-session.ts';

/** A question as it was put, and what was said to it. */
export interface AnsweredQuestion {
  readonly policies: readonly string[];
  readonly sentence: string;
  readonly scopes: readonly string[];
  readonly said: string;
  readonly isExpected: boolean;
}

export interface Answerer {
  /** From now on; what is asked otherwise is denied. */
  expect(asked: RecordedCall['asked'], beforeYes?: () => Promise<void>): void;
  /** Nobody answers anything while this is done; whatever is open then is denied. */
  away<Made>(act: () => Promise<Made>): Promise<Made>;
  readonly answered: readonly AnsweredQuestion[];
  close(): Promise<void>;
}

/** A human who says yes to what the recording says, and no to everything else. */
export async function startAnswering(client: Client, palyrad: PalyradProcess): Promise<Answerer> {
  const signer = await openSigner(palyrad.home);
  const answered: AnsweredQuestion[] = [];
  const over = new AbortController();
  let expected: RecordedCall['asked'];
  let beforeYes: (() => Promise<void>) | undefined;
  const answer = async (shown: PendingApproval) => {
    const { policy, what, options } = readPrompt(shown.prompt);
    const isExpected = expected !== undefined && policy.ids.includes(expected.by);
    const said = isExpected ? (expected?.answer ?? 'deny') : 'deny';
    if (said !== 'deny') await beforeYes?.();
    const scopes = options.map(({ scope }) => scope);
    const entry = { policies: policy.ids, sentence: what.sentence, scopes, said: said as string, isExpected };
    // Before it is said: the call goes on at once, and whoever counts questions must find this one.
    answered.push(entry);
    const recorded = await client.approvals.decide(
      shown,
      said === 'deny' ? { decision: 'deny', reason: 'Not in this session.' } : { decision: 'approve', scope: said },
      signer,
    );
    if (recorded.kind !== 'decided') entry.said = `not taken: ${recorded.kind} ${recorded.state ?? ''}`;
  };
  let isAway = false;
  const watching = (async () => {
    for await (const change of client.approvals.watch({ signal: over.signal })) {
      if (change.kind !== 'approval' || change.approval.state !== 'pending' || isAway) continue;
      await answer(change.approval);
    }
  })().catch((error: unknown) => {
    if (!over.signal.aborted) throw error;
  });
  return {
    expect(asked, before) {
      expected = asked;
      beforeYes = before;
    },
    async away(act) {
      isAway = true;
      try {
        return await act();
      } finally {
        isAway = false;
        for (const each of await client.approvals.list()) await answer(each);
      }
    },
    answered,
    async close() {
      over.abort();
      await watching;
    },
  };
}
