import { connect } from '@palyra/client';
import { type AnsweredQuestion, startAnswering } from './answer-questions.ts';
import { type PlayedAttack, playAttack } from './play-attack.ts';
import { openPlayer, type PlayedCall } from './play-call.ts';
import { type PlantedAttack, type RecordedCall, readOrdinary } from './recorded-session.ts';
import type { SessionPlace } from './session-place.ts';

/** One call of the recording, and what became of it. */
export interface SessionStep {
  readonly number: number;
  readonly call: RecordedCall;
  readonly played: PlayedCall;
  readonly questions: readonly AnsweredQuestion[];
}

export interface PlayedSession {
  readonly steps: readonly SessionStep[];
  readonly attacks: readonly PlayedAttack[];
  readonly tookMs: number;
}

/** Another way to play it, for those who want to see a replay that is not as it should be. */
export interface OddReplay {
  /** Nothing is answered for good. */
  readonly answer?: 'once';
  /** Asked after each call. */
  isEnough?(steps: readonly SessionStep[]): boolean;
}

/** The whole ordinary session, one call after the other, as one agent makes them; with attacks at their places, if any. */
export async function playSession(
  place: SessionPlace,
  attacks: readonly PlantedAttack[] = [],
  odd: OddReplay = {},
): Promise<PlayedSession> {
  const began = performance.now();
  using operator = await connect({ home: place.palyrad.home.root, as: 'operator' });
  using player = await openPlayer(place, { byProgram: 1 });
  const answerer = await startAnswering(operator, place.palyrad);
  const steps: SessionStep[] = [];
  const made: PlayedAttack[] = [];
  for (const [at, call] of readOrdinary().entries()) {
    for (const attack of attacks.filter(({ after }) => after === at)) {
      made.push(await playAttack(attack, { place, operator, player, answerer }));
    }
    const asked = answerer.answered.length;
    answerer.expect(call.asked === undefined ? undefined : { ...call.asked, ...answerOf(odd) });
    const played = await player.play(call);
    answerer.expect(undefined);
    steps.push({ number: at + 1, call, played, questions: answerer.answered.slice(asked) });
    if (odd.isEnough?.(steps) === true) break;
  }
  await player.end();
  await answerer.close();
  return { steps, attacks: made, tookMs: performance.now() - began };
}

function answerOf({ answer }: OddReplay): Pick<OddReplay, 'answer'> {
  return answer === undefined ? {} : { answer };
}

/** Why a step is not what its user expects; undefined: it is. */
export function wrongWith({ call, played }: SessionStep): string | undefined {
  const { kind, exit, told } = played;
  if (kind !== 'done') return `${kind}: ${told}`;
  if (exit !== undefined && exit !== (call.exit ?? 0)) return `exit ${exit}: ${told}`;
  if (call.prints !== undefined && !told.includes(call.prints)) return `does not say ${call.prints}: ${told}`;
  return undefined;
}
