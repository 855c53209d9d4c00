import { join } from 'node:path';
import type { DecisionScope } from '@palyra/approvals';
import {
  createFakeClock,
  createFakeCredentials,
  createTemporaryHome,
  openApprovalsHome,
  sharedPostgres,
} from '@palyra/testkit';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { MINUTE, type ModelCard } from './approvals-model.ts';
import {
  beginPlay,
  endPlay,
  expectAgreement,
  type Play,
  playApprove,
  playAsk,
  playCancel,
  playCrowd,
  playDeny,
  playPolicy,
  playRace,
  playRestart,
  playRevoke,
  playRun,
  playRunGranted,
} from './approvals-play.ts';

/** `npm run soak` plays ten times as many. */
const RUNS = process.env['PALYRA_SOAK'] === '1' ? 300 : 12;

type Act = (play: Play) => Promise<unknown>;

/** For what is done to a card: one of those there are, or nothing. */
function toCard(act: (play: Play, card: ModelCard) => Promise<unknown>, index: number): Act {
  return async (play) => {
    const card = play.model.cards[index % Math.max(1, play.model.cards.length)];
    if (card !== undefined) await act(play, card);
  };
}

interface Command {
  /** For the counterexample. */
  readonly name: string;
  readonly act: Act;
}

const index = fc.nat({ max: 20 });
const subject = fc.nat({ max: 5 });
const session = fc.nat({ max: 1 });
const who = fc.nat({ max: 1 });
const scope = fc.constantFrom<DecisionScope>('once', 'session', 'timeboxed');
const answer = fc.constantFrom('deny' as const, 'stricter' as const);

const ACTS: readonly (readonly [number, string, fc.Arbitrary<Act>])[] = [
  [6, 'ask', fc.record({ subject, session }).map((place) => (play: Play) => playAsk(play, place))],
  [
    5,
    'approve',
    fc.tuple(index, who, scope).map(([i, by, reach]) => toCard((play, card) => playApprove(play, card, by, reach), i)),
  ],
  [2, 'deny', fc.tuple(index, who).map(([i, by]) => toCard((play, card) => playDeny(play, card, by), i))],
  [2, 'crowd', session.map((where) => (play: Play) => playCrowd(play, where))],
  [2, 'race', index.map((i) => toCard(playRace, i))],
  [1, 'cancel', index.map((i) => toCard(playCancel, i))],
  [
    3,
    'advance',
    fc.constantFrom(1, 5, 10, 30).map(
      (minutes) =>
        ({ clock }: Play) =>
          clock.advance(minutes * MINUTE),
    ),
  ],
  [5, 'run', index.map((i) => toCard(playRun, i))],
  [3, 'run granted', fc.record({ subject, session }).map((place) => (play: Play) => playRunGranted(play, place))],
  [1, 'revoke', index.map((i) => (play: Play) => playRevoke(play, i))],
  [
    1,
    'policy',
    fc.tuple(fc.nat({ max: 2 }), answer).map(
      ([effect, says]) =>
        (play: Play) =>
          playPolicy(play, effect, says),
    ),
  ],
  [1, 'expire', fc.constant(({ approvals }: Play) => approvals.expire())],
  [2, 'restart', fc.constant(playRestart)],
];

const command: fc.Arbitrary<Command> = fc.oneof(
  ...ACTS.map(([weight, name, acts]) => ({ weight, arbitrary: acts.map((act) => ({ name, act })) })),
);

/** Played first, so that whatever the chances are, several calls are released by one answer. */
const CROWD: Command = { name: 'crowd', act: (play) => playCrowd(play, 0) };

test('on SQLite, whatever happens in whatever order, approvals do what the model says', async () => {
  await using directory = await createTemporaryHome();
  await expectAsModelled({ kind: 'sqlite', path: join(directory.path, 'palyra.db') }, RUNS);
});

test('so they do on PostgreSQL', async () => {
  const { url, drop } = await sharedPostgres().createDatabase();
  await expectAsModelled({ kind: 'postgres', url, poolSize: 8 }, Math.ceil(RUNS / 2));
  await drop();
});

async function expectAsModelled(location: Parameters<typeof openApprovalsHome>[0], numRuns: number): Promise<void> {
  const clock = createFakeClock();
  await using home = await openApprovalsHome(location, { clock, credentials: createFakeCredentials() });
  let runs = 0;
  let mostReleased = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(command, { minLength: 5, maxLength: 30 }), async (commands) => {
      runs += 1;
      const play = await beginPlay(home, clock, `agent:${runs}`);
      for (const { act } of commands) {
        await act(play);
        await expectAgreement(play);
      }
      await endPlay(play);
      mostReleased = Math.max(mostReleased, play.model.mostReleased);
    }),
    { numRuns, endOnFailure: true, examples: [[[CROWD]]] },
  );
  // Else nothing above says that an answer lets go whoever it covers.
  expect(mostReleased).toBeGreaterThanOrEqual(3);
}
