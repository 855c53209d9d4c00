import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from '@palyra/client';
import { expect, vi } from 'vitest';
import { runInProcess } from '../e2e/cli-in-process.ts';
import { openPlayer, type PlayedCall } from './play-call.ts';
import type { SessionPlace } from './session-place.ts';

type Ended = Awaited<ReturnType<typeof runInProcess>>;

/** What a person did with a hooked session on the command line, and what became of it. */
export interface CommandLine
  extends Readonly<Record<'inbox' | 'approve' | 'why' | 'log' | 'undo' | 'stop' | 'verify', Ended>> {
  readonly allowed: PlayedCall;
  readonly approved: PlayedCall;
  readonly denied: PlayedCall;
  readonly stopped: readonly PlayedCall[];
  readonly next: PlayedCall;
  readonly before: readonly string[];
  readonly undone: readonly string[];
}

export async function useCommandLine(place: SessionPlace): Promise<CommandLine> {
  const home = place.palyrad.home.root;
  const variables = { PALYRA_HOME: home };
  const palyra = (...args: readonly string[]) => runInProcess({ args, cwd: place.workspace, variables, input: '' });
  using operator = await connect({ home, as: 'operator' });
  using player = await openPlayer(place);
  const files = () => ['README.md', 'docs/made/new.md'].map((path) => textOf(join(place.workspace, path)));
  const waiting = () => vi.waitFor(async () => expect(await operator.approvals.list()).toHaveLength(1), PATIENT);
  // What was denied is not asked again soon, so each is another one.
  const workflow = (content: string) =>
    player.play({ tool: 'Write', input: { file_path: '$WORK/.github/workflows/ci.yml', content } });

  const allow = await palyra('allow', place.filled('host:api.example:$WEB_PORT'));
  expect(allow).toMatchObject({ exit: 0 });
  const allowed = await player.play(shell(place.filled('curl -sS http://api.example:$WEB_PORT/')));
  const before = files();
  await player.play({ tool: 'Edit', input: edited('$WORK/README.md') });
  await player.play({ tool: 'Write', input: { file_path: '$WORK/docs/made/new.md', content: 'new\n' } });

  const first = workflow('on: push\n');
  await waiting();
  const inbox = await palyra('inbox');
  const [, id = ''] = /^([0-9A-Z]{6}) /m.exec(inbox.out) ?? [];
  const approve = await palyra('approve', id, '--yes');
  const approved = await first;
  const second = workflow('on: [push]\n');
  await waiting();
  await palyra('deny', '--reason', 'Not on Fridays.');
  const denied = await second;
  const why = await palyra('why', /palyra why (\w+)/.exec(denied.told)?.[1] ?? '');
  const log = await palyra('log');
  const undo = await palyra('undo');
  const undone = files();

  const held = workflow('on: pull_request\n');
  await waiting();
  const running = player.play(shell('echo begun; sleep 600'));
  await vi.waitFor(async () => expect((await palyra('log')).out).toMatch(/under way .*sleep 600/), PATIENT);
  const stop = await palyra('stop');
  const stopped = await Promise.all([held, running]);
  const next = await player.play(shell('echo next'));
  await player.end();
  const verify = await palyra('verify', home);
  const ends = { inbox, approve, why, log, undo, stop, verify };
  return { ...ends, allowed, approved, denied, stopped, next, before, undone };
}

/** Waits without a limit of its own: the machine may be busy. */
const PATIENT = { timeout: 60_000 };

const shell = (command: string) => ({ tool: 'Bash', input: { command } });
const edited = (path: string) => ({ file_path: path, old_string: '# notes-api', new_string: '# Notes' });

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '(absent)';
  }
}
