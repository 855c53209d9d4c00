import { setImmediate as turnOfTheEventLoop } from 'node:timers/promises';
import type { Caller, Run, Tool, ToolCallResult, ToolResult } from '@palyra/gateway';
import { parseActor } from '@palyra/journal';
import type { CallId, RunId, SessionId } from '@palyra/primitives';
import { expect, vi } from 'vitest';
import {
  createModel,
  DIED,
  type Fuse,
  type GatewayModel,
  type ModelCall,
  type ModelRun,
  type Proposal,
  startRun,
  type ToolName,
} from './gateway-model.ts';
import { crash } from './gateway-model-acts.ts';
import { childOf, childrenOf, propose } from './gateway-model-life.ts';
import { type Ground, type MortalHouse, openMortalHouse, WORKSPACE } from './gateway-mortal-house.ts';
import { LEAVES_THE_BOX, testTool } from './gateway-tools-for-tests.ts';

/** The real thing and the model, side by side. Each act is done to both, and what they say is compared. */
export interface Play {
  readonly ground: Ground;
  readonly model: GatewayModel;
  readonly agent: Caller;
  readonly owner: string;
  house: MortalHouse;
  /** The model, in the midst of an act. */
  hasDied: boolean;
  /** By their number in the model. */
  readonly runs: { readonly id: RunId; readonly session: SessionId; open: Run | undefined }[];
  readonly calls: Map<ModelCall, RealCall>;
  /** Asked again with the same key while it was under way. */
  readonly echoes: { readonly call: ModelCall; readonly answer: Promise<unknown> }[];
  /** What tools did, noted where the gateway does not look. */
  readonly effects: Effect[];
}

export interface RealCall {
  stage: string;
  id: string | undefined;
  result: ToolCallResult | undefined;
  readonly stop: AbortController;
  letGo(): void;
}

/** One thing that a tool did, and what the journal had of its call at that moment. */
export interface Effect {
  readonly callId: string;
  readonly recorded: readonly string[];
}

const TOOLS: readonly (readonly [ToolName, Parameters<typeof testTool>[0]])[] = [
  ['free', {}],
  ['alone', { isParallel: false }],
  ['asked', { enforced: { secretFiles: ['/srv/work/.env'], readRoots: ['/srv/work'] } }],
  ['denied', { enforced: { ...LEAVES_THE_BOX, neverPaths: ['/root/.ssh'] } }],
  ['faulty', {}],
  ['nest', {}],
];

export async function beginPlay(ground: Ground, name: string): Promise<Play> {
  const play = {
    ground,
    model: createModel(ground.clock.now()),
    agent: {
      principal: { type: 'Agent', id: name },
      actor: parseActor(`agent:${name}`),
      groups: [],
      credential: `token of ${name}`,
      coverage: 'wrapped',
      separation: 'personal',
    },
    owner: name,
    hasDied: false,
    runs: [],
    calls: new Map(),
    echoes: [],
    effects: [],
  } as Omit<Play, 'house'> as Play;
  play.house = await openFor(play);
  for (const session of [0, 0, 1]) await playStart(play, session);
  return play;
}

function openFor(play: Play): Promise<MortalHouse> {
  const tools = TOOLS.map(([name, options]) => toolOf(play, name, testTool({ ...options, name: `test.${name}` })));
  return openMortalHouse(play.ground, { tools, owner: play.owner, policy: () => play.model.policy });
}

function toolOf(play: Play, name: ToolName, tool: Tool): Tool {
  return {
    ...tool,
    plan: (...args) => (name === 'faulty' ? Promise.reject(new Error('no plan')) : tool.plan(...args)),
    async execute(call, context) {
      const [model, real] = [...play.calls].find(([, { id }]) => id === call.id) ?? [];
      if (model === undefined || real === undefined) throw new Error('A call runs that nobody proposed.');
      const { entries } = await play.ground.journal.query({ call: call.id });
      play.effects.push({ callId: call.id, recorded: entries.map(({ kind }) => kind) });
      real.stage = 'executing';
      if (name === 'nest') await nestedOf(play, model, { parent: call.id, signal: context.signal });
      else if (model.text === 'fail') throw new Error('no luck');
      else if (model.text.startsWith('hold')) await untilLetGo(real, context.signal);
      const done = await tool.execute(call, context);
      return context.signal.aborted ? stopped(done, context.signal) : done;
    },
  };
}

async function nestedOf(
  play: Play,
  model: ModelCall,
  how: { readonly parent: CallId; readonly signal: AbortSignal },
): Promise<void> {
  const [child] = childrenOf(play.model, model);
  // The model's was told that the run is over; so is this one.
  const { open } = runOf(play, model.run);
  if (child !== undefined) await callFor(play, child, how);
  else {
    const call = { ...asText(childOf(model)), parent: how.parent };
    await expect(open?.call(call)).rejects.toMatchObject({ code: 'gateway.run_ended' });
  }
}

function untilLetGo(real: RealCall, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    real.letGo = resolve;
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

function stopped(done: ToolResult, signal: AbortSignal): ToolResult {
  const kind = (signal.reason as Error).name === 'TimeoutError' ? 'timed_out' : 'cancelled';
  return { ...done, kind, code: kind, message: 'It was stopped.' } as ToolResult;
}

export function runOf(play: Play, { index }: ModelRun): Play['runs'][number] {
  return play.runs[index] as Play['runs'][number];
}

export async function playStart(play: Play, session: number): Promise<void> {
  const { house, agent, model, runs } = play;
  const before = model.runs.find((run) => run.session === session);
  const known = before === undefined ? {} : { session: runOf(play, before).session };
  const open = await house.gateway.startRun(agent, { workspace: WORKSPACE, ...known });
  startRun(model, session);
  runs.push({ id: open.id, session: open.session, open });
}

function asText({ tool, text, key }: Proposal) {
  const input = text === 'bad' ? '{"text":1}' : JSON.stringify({ text });
  return { tool: `test.${tool}`, input, ...(key === undefined ? {} : { key }) };
}

/** Begins the call of the model for real, and notes how far it comes. */
async function callFor(
  play: Play,
  call: ModelCall,
  how: { readonly parent?: CallId; readonly signal?: AbortSignal } = {},
): Promise<void> {
  const { house } = play;
  const stop = new AbortController();
  const real: RealCall = { stage: 'begun', id: undefined, result: undefined, stop, letGo: () => undefined };
  play.calls.set(call, real);
  const signal = how.signal === undefined ? stop.signal : AbortSignal.any([stop.signal, how.signal]);
  try {
    const { open } = runOf(play, call.run);
    const result = await (open as Run).call({
      ...asText(call),
      ...how,
      signal,
      onEvent(event) {
        if (event.kind === 'accepted') real.id = event.callId;
        if (event.kind === 'approval_requested') real.stage = 'asked';
        if (event.kind === 'approval_decided') real.stage = 'begun';
      },
    });
    // The outcome is durable before it is told: whoever is told finds it.
    const { entries } = await play.ground.journal.query({ call: result.call_id, kinds: ['attestation'] });
    expect(entries.map(({ seq }) => seq)).toEqual([result.attestation.journal_seq]);
    Object.assign(real, { result, stage: result.outcome.code ?? result.outcome.kind });
  } catch (error) {
    if (house === play.house) real.stage = `threw ${String(error)}`;
  }
}

export async function playPropose(play: Play, run: ModelRun, proposal: Proposal): Promise<void> {
  const real = runOf(play, run);
  if (real.open === undefined && !run.isOver) real.open = await play.house.gateway.resumeRun(play.agent, real.id);
  const before = play.model.calls.length;
  const expected = attempt(play, () => propose(play.model, { run, ...proposal }));
  if (typeof expected === 'string') {
    // Nothing of it is recorded: there is no such call.
    await expect(callAgain(play, run, proposal)).rejects.toMatchObject({ code: expected });
    return;
  }
  // Also when the model died in the middle of it.
  const call = play.model.calls[before];
  if (call !== undefined) void callFor(play, call);
  else if (expected !== undefined) await playAgain(play, expected);
}

/** The same key again: the same answer, and nothing runs. */
async function playAgain(play: Play, call: ModelCall): Promise<void> {
  const answer = callAgain(play, call.run, call);
  if (call.stage !== 'ended') {
    play.echoes.push({ call, answer: answer.catch(() => undefined) });
    return;
  }
  const told = await answer;
  const { result } = play.calls.get(call) ?? {};
  if (result !== undefined) expect(told).toEqual(result);
  else expect(told.outcome).toMatchObject(call.code === 'completed' ? { kind: 'completed' } : { code: call.code });
}

async function callAgain(play: Play, run: ModelRun, proposal: Proposal): Promise<ToolCallResult> {
  const real = runOf(play, run);
  const open = real.open ?? (await play.house.gateway.resumeRun(play.agent, real.id));
  return open.call(asText(proposal));
}

/** Undefined when the model died. */
export function attempt<Answer>(play: Play, act: () => Answer): Answer | undefined {
  try {
    return act();
  } catch (thrown) {
    if (thrown !== DIED) throw thrown;
    play.hasDied = true;
    return undefined;
  }
}

const PATIENCE = { timeout: 20_000, interval: 2 } as const;
const UNUSABLE = ['gateway.approval_unusable', 'approvals.already_used', 'approvals.revoked', 'approvals.not_approved'];

/** Waits until every call came as far as the model says. */
export async function settle(play: Play): Promise<void> {
  const calls = play.model.calls.filter(({ stage }) => stage !== 'lost');
  const expected = calls.map((call) => `${call.index} ${call.tool} ${call.stage === 'ended' ? call.code : call.stage}`);
  const found = () => calls.map((call) => `${call.index} ${call.tool} ${stageOf(play, call)}`);
  await vi.waitFor(async () => {
    expect(found()).toEqual(expected);
    // One that waits for its turn says nothing of it: that it would come further shows when nothing moves.
    for (let turns = 0; turns < 3; turns += 1) {
      await turnOfTheEventLoop();
      expect(play.house.busy).toBe(0);
    }
    expect(found()).toEqual(expected);
  }, PATIENCE);
}

function stageOf({ calls }: Play, call: ModelCall): string {
  const { id, stage } = calls.get(call) ?? {};
  if (id === undefined || stage === undefined) return 'nowhere';
  return UNUSABLE.includes(stage) ? 'unusable' : stage;
}

/** Dies now, or where the fuse ends, and another process goes on with what is durable. */
export async function playCrash(play: Play): Promise<void> {
  const { model, house } = play;
  // It died where the model did, or not at all.
  expect(house.isDead).toBe(play.hasDied);
  play.hasDied = false;
  house.kill();
  play.house = await openFor(play);
  for (const run of play.runs) run.open = undefined;
  // What nobody was told is found in the journal.
  const told = model.calls.filter(({ stage }) => stage === 'ended');
  const interrupted = crash(model);
  const settled = await play.house.gateway.settleInterrupted();
  for (const call of [...told, ...interrupted]) await readEnd(play, call);
  const ids = interrupted.map((call) => play.calls.get(call)?.id ?? '');
  expect(settled.toSorted()).toEqual(ids.toSorted());
}

async function readEnd({ calls, ground }: Play, call: ModelCall): Promise<void> {
  const real = calls.get(call);
  if (real === undefined || real.result !== undefined) return;
  const { entries } = await ground.journal.query({ call: real.id ?? '', kinds: ['outcome'] });
  const [entry] = entries;
  real.stage = entry?.kind === 'outcome' ? (entry.data.code ?? entry.data.outcome) : 'nowhere';
}

/** Lights the fuse, does the act, and dies: where the fuse says, or at its end. */
export async function playCrashAt(play: Play, fuse: Fuse, act: (play: Play) => Promise<unknown>): Promise<void> {
  const { model, house } = play;
  model.fuse = fuse;
  house.arm(fuse);
  await act(play);
  if (play.hasDied) await vi.waitFor(() => expect(house.isDead).toBe(true), PATIENCE);
  else await settle(play);
  await playCrash(play);
}
