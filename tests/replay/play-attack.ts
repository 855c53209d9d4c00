import { existsSync, readFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import type { Client, ToolCallResult } from '@palyra/client';
import type { AnsweredQuestion, Answerer } from './answer-questions.ts';
import type { PlayedCall, SessionPlayer } from './play-call.ts';
import type { AttackEffect, PlantedAttack } from './recorded-session.ts';
import type { SessionPlace } from './session-place.ts';

/** What became of an attack: how it was stopped, what the journal has of it, and what is on the host. */
export interface PlayedAttack {
  readonly attack: PlantedAttack;
  readonly played: PlayedCall;
  readonly questions: readonly AnsweredQuestion[];
  /** Of the calls that it made, each with its attestation. */
  readonly recorded: readonly ToolCallResult[];
  /** In words; empty: nothing of it is there. */
  readonly harm: readonly string[];
}

export interface AttackStage {
  readonly place: SessionPlace;
  readonly operator: Client;
  readonly player: SessionPlayer;
  readonly answerer: Answerer;
}

export async function playAttack(attack: PlantedAttack, stage: AttackStage): Promise<PlayedAttack> {
  const { place, operator, player, answerer } = stage;
  const { call, setup = [], cleanup = [], effect } = attack;
  for (const each of setup) await player.play(each);
  const before = look(effect, place);
  const begun = await endOfJournal(operator);
  const asked = answerer.answered.length;
  answerer.expect(call.asked, async () => {
    if (call.meanwhile !== undefined) await player.play(call.meanwhile);
  });
  const { played, answers } =
    effect.unanswered === true
      ? await whileOneWaits(stage, () => player.play(call))
      : { played: await player.play(call), answers: [] };
  answerer.expect(undefined);
  const made = await callsSince(begun, operator);
  const recorded = await Promise.all(made.map((id) => resultOf(id, operator)));
  const harm = [...answers, ...harmOf(effect, { place, before, told: played.told })];
  const questions = answerer.answered.slice(asked);
  for (const each of cleanup) await player.play(each);
  return { attack, played, questions, recorded, harm };
}

/** What was told to the agent may be ahead of a call that it never heard of: that one is waited for. */
async function resultOf(id: string, { runs }: Client) {
  for (let looks = 0; ; looks += 1) {
    try {
      return (await runs.getCall(id)).result;
    } catch (error) {
      if (looks === 100 || Object(error).code !== 'client.protocol') throw error;
      await setTimeout(100);
    }
  }
}

async function endOfJournal({ journal }: Client): Promise<number> {
  const { entries } = await journal.query({ newestFirst: true, limit: 1 });
  return (entries[0]?.seq ?? 0) + 1;
}

async function callsSince(from: number, { journal }: Client): Promise<readonly string[]> {
  const { entries } = await journal.query({ kinds: ['proposal'], from, limit: 100 });
  return [...new Set(entries.map(({ call_id: id = '' }) => id))];
}

/** A question of the same agent is open, and its user is not there; the answers that it has afterwards. */
async function whileOneWaits(
  { operator, player, answerer }: AttackStage,
  act: () => Promise<PlayedCall>,
): Promise<{ readonly played: PlayedCall; readonly answers: readonly string[] }> {
  const watched = new AbortController();
  return answerer.away(async () => {
    const waiting = player.play({ tool: 'Teleport', input: { to: 'production' } });
    for await (const change of operator.approvals.watch({ signal: watched.signal })) {
      if (change.kind === 'approval' && change.approval.state === 'pending') break;
    }
    watched.abort();
    const [open] = await operator.approvals.list();
    const played = await act();
    const now = await operator.approvals.get(open?.approval_id ?? '');
    void waiting;
    const isOpen = now.state === 'pending' && now.votes === 0;
    return { played, answers: isOpen ? [] : [`the question is ${now.state} with ${now.votes} votes`] };
  });
}

interface Outside {
  readonly files: ReadonlyMap<string, string | undefined>;
  readonly reached: Readonly<Record<'attacker' | 'registry' | 'docker', string>>;
}

/** What there is on the host, and has arrived elsewhere. */
export function look({ absent = [], unchanged = [] }: AttackEffect, { filled, hosts }: SessionPlace): Outside {
  const paths = [...absent, ...unchanged].map(filled);
  return {
    files: new Map(paths.map((path) => [path, existsSync(path) ? readFileSync(path, 'utf8') : undefined])),
    reached: {
      attacker: hosts.reachedAttacker(),
      registry: String(hosts.published()),
      docker: String(hosts.dockerConnections()),
    },
  };
}

export interface HarmQuestion {
  readonly place: SessionPlace;
  readonly before: Outside;
  /** All that the agent was told. */
  readonly told: string;
}

export function harmOf(effect: AttackEffect, { place, before, told }: HarmQuestion): readonly string[] {
  const now = look(effect, place);
  const { absent = [], unchanged = [], unseen = [], unreached = [] } = effect;
  return [
    ...absent.map(place.filled).flatMap((path) => (now.files.get(path) === undefined ? [] : [`${path} is there`])),
    ...unchanged
      .map(place.filled)
      .flatMap((path) => (now.files.get(path) === before.files.get(path) ? [] : [`${path} has changed`])),
    ...unseen.flatMap((text) => (told.includes(text) ? [`the agent was told ${text}`] : [])),
    ...unreached.flatMap((who) => (now.reached[who] === before.reached[who] ? [] : [`the ${who} was reached`])),
  ];
}
