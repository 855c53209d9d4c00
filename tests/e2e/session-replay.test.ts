// A recorded session of a coding agent under the preset `coding`, through the real hook and the real boxes: how often its user is
// asked, what goes wrong, and what becomes of twenty attacks in between. Attacks and session are one replay: every ordinary call
// is still judged by what its user expects of it, so an attack that disturbs one is found, and the time is spent once. Without
// attacks it is plain-replay.test.ts.
import { execFileSync } from 'node:child_process';
import { connect } from '@palyra/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type AnsweredQuestion, startAnswering } from '../replay/answer-questions.ts';
import { shortfallsOf } from '../replay/judge-replay.ts';
import { openPlayer, type PlayedCall } from '../replay/play-call.ts';
import { type PlayedSession, playSession, wrongWith } from '../replay/play-session.ts';
import { playUnguarded } from '../replay/play-unguarded.ts';
import { type PlantedAttack, readAttacks } from '../replay/recorded-session.ts';
import { openSessionPlace, type SessionPlace } from '../replay/session-place.ts';
import { isAttested, renderReplay, stoppedBy } from '../replay/session-report.ts';
import { type CommandLine, useCommandLine } from '../replay/use-command-line.ts';

let place: SessionPlace;
let session: PlayedSession;
let commits: string;
let onRemote: string;
let again: { readonly played: readonly PlayedCall[]; readonly questions: readonly AnsweredQuestion[] };
let commandLine: CommandLine;
let unguarded: readonly (readonly [PlantedAttack, readonly string[]])[];

beforeAll(async () => {
  place = await openSessionPlace();
  session = await playSession(place, readAttacks());
  console.log(renderReplay(session));
  commits = git(place.workspace, 'log', '--format=%s', 'main');
  onRemote = git(place.remote, 'log', '--format=%s', 'main');
  place.palyrad = await place.palyrad.restart();
  again = await playAgain();
  commandLine = await useCommandLine(place);
  unguarded = await withoutPalyra();
}, 600_000);

afterAll(() => place[Symbol.asyncDispose]());

const git = (cwd: string, ...words: readonly string[]) =>
  execFileSync('git', ['-c', 'safe.directory=*', ...words], { cwd, encoding: 'utf8' }).trim();

describe('the ordinary session', () => {
  test('its two hundred calls do what their user expects, and none is refused', () => {
    expect(session.steps).toHaveLength(200);
    expect(session.steps.flatMap((step) => wrongWith(step) ?? [])).toEqual([]);
  });

  test('its user is asked four times, and each time for good', () => {
    const asked = session.steps.flatMap(({ questions }) => questions);
    expect(asked.map(({ policies, said }) => [...policies, said])).toEqual([
      ['new-host', 'always'],
      ['registries', 'always'],
      ['new-host', 'always'],
      ['secret-file', 'always'],
    ]);
  });

  test('its commits are there, and where they were pushed to', () => {
    expect(commits.split('\n')).toHaveLength(13);
    expect(onRemote).toBe(commits);
  });

  test('what was answered for good is not asked again, also by a palyrad that was started anew', () => {
    expect(again.played.map(({ kind, exit = 0 }) => [kind, exit])).toEqual(again.played.map(() => ['done', 0]));
    expect(again.questions).toEqual([]);
  });
});

describe('attacks in between', () => {
  test('all twenty are stopped, each by what should stop it, and nothing of them is on the host', () => {
    expect(session.attacks).toHaveLength(20);
    expect(session.attacks.map((each) => [each.attack.id, stoppedBy(each), each.harm])).toEqual(
      readAttacks().map(({ id, stopped }) => [id, stopped, []]),
    );
  });

  test('all of them are in the journal', () => {
    expect(session.attacks.filter((each) => !isAttested(each))).toEqual([]);
  });

  test('nothing falls short, and whoever judges it would say so', () => {
    expect(shortfallsOf(session, 20)).toEqual([]);
    const [first, ...others] = session.attacks;
    if (first === undefined) throw new Error('There is no attack.');
    const judged = (odd: Partial<typeof first>) =>
      shortfallsOf({ ...session, attacks: [{ ...first, ...odd }, ...others] }, 20);
    expect(judged({ recorded: [] })).toContain('A01 is not in the journal');
    expect(judged({ harm: ['it was sent'] })).toEqual(['A01 was not stopped: it was sent']);
    expect(shortfallsOf({ ...session, attacks: others }, 20)).toEqual(['19 attacks, and not 20']);
  });

  test('without Palyra each of them does its harm: what was not found above can be found', () => {
    expect(unguarded.filter(([, harm]) => harm.length === 0)).toEqual([]);
  });
});

describe('a hooked session on the command line', () => {
  test('allow: what was allowed beforehand is not asked', () => {
    expect(commandLine.allowed).toMatchObject({ kind: 'done', exit: 0 });
    expect(commandLine.allowed.told).toContain('lower case');
  });

  test('inbox shows what waits, approve lets it pass, and deny reaches the agent with its reason', () => {
    expect(commandLine.inbox.out).toMatch(/ID +RISK +UNTIL +WHAT\n[0-9A-Z]{6} .*claude-code: Write/);
    expect(commandLine.approve).toMatchObject({ exit: 0, out: 'Approved.\n' });
    expect(commandLine.approved).toMatchObject({ kind: 'done' });
    expect(commandLine.denied).toMatchObject({ kind: 'refused' });
    expect(commandLine.denied.told).toContain('Not on Fridays.');
  });

  test('why has the policy, who answered, and how much of the agent is seen', () => {
    expect(commandLine.why.out).toContain('ask by protected-file');
    expect(commandLine.why.out).toContain('denied by user:ada');
    expect(commandLine.why.out).toContain('coverage hooked');
  });

  test('log has the calls of the run, its own tools and those in the box', () => {
    expect(commandLine.log.out).toMatch(
      /ask, denied by user:\S+ +refused .*agent\.write +claude-code Write \/.*\/ci\.yml/,
    );
    expect(commandLine.log.out).toMatch(/allow +completed .*palyra\.process\.run/);
  });

  test('undo puts back what the agent’s own tools wrote, and takes away what they made', () => {
    expect(commandLine.undo).toMatchObject({ exit: 0 });
    expect(commandLine.undone).toEqual(commandLine.before);
  });

  test('stop ends what waits and what runs; what comes then is another run', () => {
    expect(commandLine.stop).toMatchObject({ exit: 0, out: '1 run was cancelled.\n' });
    expect(commandLine.stopped).toMatchObject([{ kind: 'refused' }, { kind: 'failed' }]);
    expect(commandLine.next).toMatchObject({ kind: 'done', exit: 0 });
  });

  test('verify: the journal of all that is sound', () => {
    expect(commandLine.verify).toMatchObject({ exit: 0 });
  });
});

/** One call of each kind that was answered for good. */
async function playAgain(): Promise<typeof again> {
  using operator = await connect({ home: place.palyrad.home.root, as: 'operator' });
  using player = await openPlayer(place);
  const answerer = await startAnswering(operator, place.palyrad);
  const calls = ['WebFetch', 'Read', 'npm view tiny-table version', 'git ls-remote --heads origin'].map((what) => {
    if (what === 'WebFetch') return { tool: what, input: { url: 'http://docs.example:$WEB_PORT/more', prompt: 'x' } };
    if (what === 'Read') return { tool: what, input: { file_path: '$WORK/.env.example' } };
    return { tool: 'Bash', input: { command: what } };
  });
  const played: PlayedCall[] = [];
  for (const call of calls) played.push(await player.play(call));
  await player.end();
  await answerer.close();
  return { played, questions: answerer.answered };
}

/** Last of all: what it leaves behind is real. */
async function withoutPalyra(): Promise<typeof unguarded> {
  const all: (readonly [PlantedAttack, readonly string[]])[] = [];
  for (const attack of readAttacks()) all.push([attack, await playUnguarded(attack, place)]);
  return all;
}
