import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { STAGING } from '../../packages/sandbox/src/launch-plan.ts';
import type { PlanInText } from './programs/sandbox-daemon.ts';
import { as } from './sandbox-daemon.ts';
import { type Place, type ProfileChanges, python, tierC } from './sandboxed.ts';

/**
 * The arguments for bubblewrap exactly as `plan` makes them, and nothing else of Palyra: no launcher with its session and its
 * change of user, no stage, no filter, no comparison of facts. What stops an attack here is one of these arguments.
 */
export interface PlannedBox {
  readonly bubblewrap: string;
  readonly options: readonly string[];
  readonly data: readonly { readonly fd: number; readonly path: string }[];
}

/** Some consecutive words of the options. */
export type Option = readonly [string, ...string[]];

export interface BoxChanges {
  /** Taken away; an option that is not in the plan is a fault of the test, or of the plan. */
  readonly without?: readonly Option[];
  /** Others in the place of these. */
  readonly instead?: readonly (readonly [Option, Option])[];
}

export async function planBox(place: Place, profile: ProfileChanges = {}): Promise<PlannedBox> {
  const plan = await place.daemon.plan(python(''), tierC(place, profile));
  if (!('executor' in plan) || plan.wrapper === undefined)
    throw new Error(`No box was planned: ${JSON.stringify(plan)}`);
  const [bubblewrap = '', ...words] = plan.wrapper;
  const data = plan.data.map(({ fd, base64 }) => {
    const path = join(place.base, `data-${fd}`);
    writeFileSync(path, Buffer.from(base64, 'base64'));
    return { fd, path };
  });
  // What is behind them is what the launcher executes in the box.
  const options = words.slice(0, -STAGE.length);
  if (words.slice(-STAGE.length).join(' ') !== STAGE.join(' '))
    throw new Error('The box is not planned for the stage.');
  const [filter = ''] = options.slice(options.indexOf('--seccomp') + 1);
  const found = options.map((word) => whereItLies(word, plan));
  return changed({ bubblewrap, options: found, data }, { without: [['--seccomp', filter]] });
}

const STAGE = ['/proc/self/fd/5', 'stage'];

/** What the launcher would have put where the tool's user finds it; whoever runs the box here finds it where it lies. */
function whereItLies(word: string, { staged }: PlanInText): string {
  const found = staged.find(({ name }) => word === `${STAGING}/${name}` || word.startsWith(`${STAGING}/${name}/`));
  return found === undefined ? word : `${found.source}${word.slice(`${STAGING}/${found.name}`.length)}`;
}

export function changed(box: PlannedBox, { without = [], instead = [] }: BoxChanges): PlannedBox {
  const changes = [...instead, ...without.map((option) => [option, []] as const)];
  const options = changes.reduce<readonly string[]>((words, [before, after]) => {
    const at = words.findIndex((_, from) => before.every((word, each) => words[from + each] === word));
    if (at === -1) throw new Error(`The plan lacks ${before.join(' ')}.`);
    return [...words.slice(0, at), ...after, ...words.slice(at + before.length)];
  }, box.options);
  return { ...box, options };
}

export interface BoxOptions {
  /** A program that does something and then becomes or starts the box. */
  readonly through?: readonly string[];
}

export interface BoxEnd {
  readonly stdout: string;
  readonly stderr: string;
}

export interface StartedBox {
  /** Of what was started, which with `through` is that. */
  readonly pid: number;
  /** When nobody holds its output any more. */
  readonly ended: Promise<BoxEnd>;
}

/** In the box, by the place's user. */
export function runBox(place: Place, box: PlannedBox, argv: readonly string[], options?: BoxOptions): Promise<BoxEnd> {
  return startBox(place, box, argv, options).ended;
}

export function startBox(
  place: Place,
  box: PlannedBox,
  argv: readonly string[],
  { through = [] }: BoxOptions = {},
): StartedBox {
  const [file = '', ...args] = as(place, [...through, box.bubblewrap, ...box.options, ...argv]);
  // Opened anew: bubblewrap reads each to its end.
  const opened = box.data.map(({ fd, path }) => ({ fd, ours: openSync(path, 'r') }));
  const last = Math.max(2, ...opened.map(({ fd }) => fd));
  const others = Array.from({ length: last - 2 }, (_, at) => opened.find(({ fd }) => fd === at + 3)?.ours ?? 'ignore');
  const child = spawn(file, args, {
    cwd: '/',
    env: { PATH: '/usr/bin:/bin' },
    stdio: ['ignore', 'pipe', 'pipe', ...others],
  });
  for (const { ours } of opened) closeSync(ours);
  const { pid, stdout, stderr } = child;
  if (pid === undefined || stdout === null || stderr === null) throw new Error('The box was not started.');
  const ended = Promise.all([text(stdout), text(stderr), once(child, 'close')]);
  return { pid, ended: ended.then(([said, complained]) => ({ stdout: said, stderr: complained })) };
}
