import fc from 'fast-check';
import {
  type Fuse,
  MINUTE,
  MOST_CALLS,
  type ModelCall,
  type ModelRun,
  type PolicyName,
  type Proposal,
  stateOf,
} from './gateway-model.ts';
import type { Scope } from './gateway-model-acts.ts';
import { type Play, playCrash, playCrashAt, playPropose, playStart } from './gateway-play.ts';
import {
  playAdvance,
  playApprove,
  playCancelCall,
  playCancelRun,
  playDeny,
  playPolicy,
  playRelease,
  playRevoke,
} from './gateway-play-acts.ts';

type Act = (play: Play) => Promise<unknown>;

export interface Command {
  /** For the counterexample. */
  readonly name: string;
  readonly act: Act;
  readonly [fc.toStringMethod]: () => string;
}

/** One of those there are, or nothing. */
function toOne<Thing>(
  things: (play: Play) => readonly Thing[],
  act: (play: Play, thing: Thing) => Promise<unknown>,
): (index: number) => Act {
  return (index) => async (play) => {
    const all = things(play);
    const one = all[index % Math.max(1, all.length)];
    if (one !== undefined) await act(play, one);
  };
}

const underWay = ({ model }: Play) => model.calls.filter(({ stage }) => stage !== 'ended' && stage !== 'lost');
const held = (play: Play) => underWay(play).filter(({ stage, tool }) => stage === 'executing' && tool !== 'nest');
const keyed = ({ model }: Play) => model.calls.filter((call) => call.key !== undefined && call.parent === undefined);
const runs = ({ model }: Play) => model.runs;
/** Those that are open come first, so that most answers find one. */
const cards = ({ model }: Play) => {
  const open = model.cards.filter((card) => stateOf(model, card) === 'pending');
  return open.length > 0 ? open : model.cards;
};

function playOnceMore(play: Play, { run, tool, text, key = '' }: ModelCall): Promise<void> {
  return playPropose(play, run, { tool, text, key });
}

/** Everything that can be done, by a name that says it: counterexamples and scenes are lists of these. */
export const COMMANDS = {
  propose: (call: Proposal, run: number): Command =>
    command(`propose ${JSON.stringify(call)} in ${run}`, toOne(runs, (play, one) => playPropose(play, one, call))(run)),
  /** At once, without waiting for what becomes of the first. */
  burst: (call: Proposal, run: number): Command =>
    command(
      `propose thrice ${JSON.stringify(call)} in ${run}`,
      toOne(runs, async (play, one) => {
        const times = isAnyOrder(play, one, call) ? 3 : 1;
        for (let time = 0; time < times; time += 1) await playPropose(play, one, call);
      })(run),
    ),
  again: (index: number): Command => command(`again ${index}`, toOne(keyed, playOnceMore)(index)),
  approve: (index: number, scope: Scope): Command =>
    command(`approve ${index} ${scope}`, toOne(cards, (play, card) => playApprove(play, card, scope))(index)),
  deny: (index: number): Command => command(`deny ${index}`, toOne(cards, playDeny)(index)),
  revoke: (index: number): Command => command(`revoke ${index}`, toOne(({ model }) => model.grants, playRevoke)(index)),
  release: (index: number): Command => command(`release ${index}`, toOne(held, playRelease)(index)),
  cancel: (index: number): Command => command(`cancel ${index}`, toOne(underWay, playCancelCall)(index)),
  cancelRun: (index: number): Command => command(`cancel run ${index}`, toOne(runs, playCancelRun)(index)),
  policy: (name: PolicyName, isTold: boolean): Command =>
    command(`policy ${name}${isTold ? ', told' : ''}`, (play) => playPolicy(play, name, isTold)),
  minutes: (minutes: number): Command => command(`${minutes} minutes`, (play) => playAdvance(play, minutes * MINUTE)),
  start: (session: number): Command => command(`start in ${session}`, (play) => playStart(play, session)),
  crash: (): Command => command('crash', playCrash),
  die: (fuse: Fuse, { name, act }: Command): Command =>
    command(`die ${fuse.when} ${fuse.at} of: ${name}`, (play) =>
      isSimple(play) ? playCrashAt(play, fuse, act) : playCrash(play),
    ),
};

function command(name: string, act: Act): Command {
  return { act, [fc.toStringMethod]: () => name, name };
}

/** Whether it is the same for them who comes first, as in the model: nobody is refused for what another holds for a moment. */
function isAnyOrder({ model }: Play, run: ModelRun, { tool }: Proposal): boolean {
  const reserved = model.calls.filter((call) => call.run === run && call.isReserved).length;
  const room = MOST_CALLS - run.used - reserved;
  const keepsIt = (tool === 'free' || tool === 'alone') && model.policy !== 'broken';
  return run.refused + 3 < MOST_CALLS && (keepsIt || room >= (tool === 'nest' ? 6 : 3));
}

/** Which of several commits comes first is nothing that the model knows. */
function isSimple(play: Play): boolean {
  return underWay(play).filter(({ stage }) => stage !== 'executing').length <= 1;
}

const index = fc.nat({ max: 20 });
const run = fc.nat({ max: 3 });
const text = fc.constantFrom('go 1', 'go 2', 'hold 1', 'hold 2');
const key = fc.option(fc.constantFrom('k', 'l'), { nil: undefined, freq: 2 });
const tool = fc.constantFrom<Proposal['tool'][]>(
  ...(['free', 'alone', 'asked', 'asked', 'asked', 'denied', 'faulty', 'unknown'] as const),
);
const plainCall = fc.record({
  tool,
  text: fc.oneof({ weight: 8, arbitrary: text }, { weight: 1, arbitrary: fc.constantFrom('fail', 'bad') }),
});
const nesting = plainCall.map((child) => ({ tool: 'nest' as const, text: `${child.tool} ${child.text}` }));
const proposal: fc.Arbitrary<Proposal> = fc
  .tuple(fc.oneof({ weight: 4, arbitrary: plainCall }, { weight: 1, arbitrary: nesting }), key)
  .map(([call, named]) => (named === undefined ? call : { ...call, key: named }));
const scope = fc.constantFrom<Scope[]>('once', 'once', 'session', 'timeboxed', 'always');
const policy = fc.constantFrom<PolicyName[]>('plain', 'plain', 'strict', 'loose', 'broken');
const fuse: fc.Arbitrary<Fuse> = fc.record({
  at: fc.constantFrom('decision', 'approval.requested', 'approval.decided', 'intent', 'attestation'),
  when: fc.constantFrom('before', 'after'),
});

const proposing = fc.tuple(proposal, run).map((all) => COMMANDS.propose(...all));
const approving = fc.tuple(index, scope).map((all) => COMMANDS.approve(...all));
const releasing = index.map(COMMANDS.release);
const dying = fc.tuple(fuse, fc.oneof(proposing, proposing, approving, releasing)).map((all) => COMMANDS.die(...all));

const ACTS: readonly (readonly [number, fc.Arbitrary<Command>])[] = [
  [12, proposing],
  [3, fc.tuple(proposal, run).map((all) => COMMANDS.burst(...all))],
  [3, index.map(COMMANDS.again)],
  [7, approving],
  [4, releasing],
  [2, index.map(COMMANDS.deny)],
  [2, index.map(COMMANDS.revoke)],
  [2, index.map(COMMANDS.cancel)],
  [1, run.map(COMMANDS.cancelRun)],
  [3, fc.tuple(policy, fc.boolean()).map((all) => COMMANDS.policy(...all))],
  [3, fc.constantFrom(1, 5, 12, 35).map(COMMANDS.minutes)],
  [1, fc.constantFrom(0, 1).map(COMMANDS.start)],
  [2, fc.constant(COMMANDS.crash())],
  [4, dying],
];

export const anyCommand: fc.Arbitrary<Command> = fc.oneof(
  ...ACTS.map(([weight, arbitrary]) => ({ weight, arbitrary })),
);
