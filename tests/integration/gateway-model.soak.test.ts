import { createFakeClock, createFakeCredentials } from '@palyra/testkit';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { anyCommand, COMMANDS, type Command } from './gateway-commands.ts';
import { expectInvariants } from './gateway-invariants.ts';
import { type Ground, openGround } from './gateway-mortal-house.ts';
import { beginPlay, settle } from './gateway-play.ts';
import { expectCards, playAdvance, playEnd } from './gateway-play-acts.ts';

/** `npm run soak` plays fifty times as many. */
const RUNS = process.env['PALYRA_SOAK'] === '1' ? 300 : 6;

const { propose, burst, again, approve, deny, revoke, release, cancel, cancelRun } = COMMANDS;
const { policy, minutes, crash, die } = COMMANDS;
const free = { tool: 'free', text: 'go 1' } as const;
const asked = { tool: 'asked', text: 'go 1' } as const;
const other = { tool: 'asked', text: 'go 2' } as const;
const alone = { tool: 'alone', text: 'hold 1' } as const;
const nest = (text: string) => ({ tool: 'nest', text }) as const;

/** Played first, so that whatever the chances are, these have been on. */
const SCENES: readonly (readonly Command[])[] = [
  // A grant that is revoked, and one that runs out, while the call that it covers waits for its turn.
  [propose(asked, 0), approve(0, 'session'), propose(alone, 0), propose(other, 0), revoke(0), release(0)],
  [propose(asked, 0), approve(0, 'timeboxed'), propose(alone, 0), propose(other, 0), minutes(12), release(0)],
  // One yes for one use, and three that wait for it; and the policies that came between question and answer.
  [burst(asked, 0), approve(0, 'once'), propose(asked, 0)],
  [propose(asked, 0), policy('strict', false), approve(0, 'once'), again(0)],
  [propose(asked, 0), propose(other, 1), policy('loose', true), policy('strict', true), propose(asked, 2)],
  [propose(asked, 0), policy('strict', true), propose(free, 0), policy('broken', false), propose(free, 1)],
  // A budget that is used up across deaths, by parallel and nested calls alike.
  [burst(free, 0), crash(), propose(nest('free go 1'), 0), burst(free, 0), propose(free, 0)],
  [propose(nest('unknown go 1'), 0), burst({ tool: 'denied', text: 'go 1' }, 0), propose(nest('unknown go 1'), 0)],
  // The same key: answered while it runs, after it ended, after its process died, and for what never was a tool.
  [propose({ ...alone, key: 'k' }, 0), again(0), release(0), again(0), crash(), again(0)],
  [propose({ ...alone, key: 'k' }, 0), crash(), again(0), propose({ ...asked, key: 'k' }, 0)],
  [
    propose({ ...asked, key: 'k' }, 0),
    crash(),
    approve(0, 'once'),
    again(0),
    again(0),
    propose({ ...other, key: 'k' }, 1),
  ],
  [propose({ tool: 'unknown', text: 'go 1', key: 'k' }, 0), again(0)],
  // Nested calls among those that must wait for one another.
  [propose(nest('asked hold 1'), 0), propose(alone, 0), approve(0, 'once'), release(0), release(0)],
  [
    propose(nest('asked go 1'), 0),
    cancel(0),
    propose(nest('free hold 1'), 1),
    minutes(35),
    propose(nest('alone go 1'), 2),
  ],
  // What a refused call held is free again; one that is cancelled while it waits for its turn does not begin.
  [burst({ tool: 'denied', text: 'go 1' }, 0), propose(free, 0), propose(free, 0), propose(free, 0)],
  [propose(alone, 0), propose(free, 0), cancel(1), release(0), propose({ ...free, text: 'fail' }, 0)],
  // What waits for an answer when nobody gives one, or when it is not wanted any more.
  [propose(asked, 0), deny(0), propose(asked, 0), propose(other, 2), minutes(35), propose(asked, 2), cancelRun(2)],
];

const POINTS = ['decision', 'approval.requested', 'intent', 'attestation'] as const;

/** Death before and after every commit of a call that is allowed, refused, asked about and approved, and how it goes on. */
const DEATHS: readonly (readonly Command[])[] = (['before', 'after'] as const).flatMap((when) => [
  POINTS.flatMap((at, run) => [die({ at, when }, propose({ ...free, key: 'k' }, run % 3)), again(run)]),
  POINTS.flatMap((at) => [
    die({ at, when }, propose({ tool: 'denied', text: 'go 1', key: at }, 0)),
    again(0),
    again(1),
  ]),
  POINTS.flatMap((at, run) => [
    die({ at, when }, propose({ ...asked, key: at }, run % 3)),
    again(run),
    approve(0, 'once'),
  ]),
  (['approval.decided', 'intent', 'attestation'] as const).flatMap((at, run) => [
    propose({ ...asked, key: at }, run),
    die({ at, when }, approve(0, 'once')),
    again(run),
    approve(0, 'once'),
  ]),
]);

test('whatever happens in whatever order, calls become what the model says, and the invariants hold', async () => {
  const ground = await openGround(createFakeClock(), createFakeCredentials());
  const commands = fc.array(anyCommand, { minLength: 8, maxLength: 30 });
  let count = 0;
  try {
    await fc.assert(
      fc.asyncProperty(commands, (all) => {
        count += 1;
        return playAll(ground, `agent${count}`, all);
      }),
      { numRuns: SCENES.length + DEATHS.length + RUNS, endOnFailure: true, examples: examples() },
    );
    expect(await ground.verdict()).toBe('sound');
  } finally {
    await ground.close();
  }
});

function examples(): [Command[]][] {
  return [...SCENES, ...DEATHS].map((scene) => [[...scene]]);
}

async function playAll(ground: Ground, name: string, commands: readonly Command[]): Promise<void> {
  const play = await beginPlay(ground, name);
  try {
    for (const { act } of commands) {
      await act(play);
      await settle(play);
      await expectCards(play);
      // So that no two grants are of the same moment; approvals notice the time in steps of this.
      await playAdvance(play, 100);
    }
    await playEnd(play);
    await expectInvariants(play);
  } finally {
    play.house.kill();
  }
}
