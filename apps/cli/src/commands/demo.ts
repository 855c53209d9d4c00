import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ensureHome, renderDefaultConfig, writeConfig } from '@palyra/config';
import { CliError } from '../cli-error.ts';
import type { CommandContext, CommandDefinition } from '../command.ts';
import { openDemoWeb } from '../demo/demo-web.ts';
import { type DemoStep, furnish, playSession } from '../demo/play-session.ts';
import { findHome } from '../find-home.ts';
import { openSigner } from '../questions/answer-question.ts';
import { withDaemon, withRunningDaemon } from '../reach-daemon.ts';
import { renderJson } from '../render/json.ts';
import { choosePaint, type Paint } from '../render/paint.ts';
import { safeText } from '../render/safe-text.ts';
import { findRunning } from '../start-daemon.ts';
import { verifyTarget } from '../verify-target.ts';

/** An agent's session end to end, on a home that is thrown away. */
export const demo: CommandDefinition = {
  name: 'demo',
  group: 'Host',
  summary: 'Show an agent’s session on a throw-away home',
  details:
    'Makes a home, starts its palyrad, and lets a scripted agent be allowed, boxed in, connected, asked about, approved, ' +
    'refused and undone, through the same API that every agent uses; then verifies the record offline. Takes less than a minute, ' +
    'touches nothing of yours, and exits with 0 only if every step went as told.',
  async run(_input, context) {
    return { json: null, render: () => '', stream: play(context) };
  },
};

async function* play(context: CommandContext): AsyncGenerator<string> {
  const { stdout } = context.openOutput();
  const paint = choosePaint({ isTerminal: stdout.isTTY === true, variables: context.variables });
  const show = (step: DemoStep, at: number) => (context.asJson ? renderJson(step) : renderStep(step, at, paint));
  const root = await mkdtemp(join(tmpdir(), 'palyra-demo-'));
  // As /home is: started by root, tools are somebody else, who has to find the workspace. The home in it is closed.
  await chmod(root, 0o755);
  const failed: string[] = [];
  let at = 0;
  try {
    for await (const step of stepsIn(root, context)) {
      at += 1;
      if (step.went === 'otherwise') failed.push(step.title);
      yield show(step, at);
    }
  } finally {
    await rm(root, { recursive: true, force: true });
  }
  if (failed.length > 0) {
    throw new CliError('cli.demo_failed', `Not as told: ${failed.join('; ')}.`, {
      fix: 'palyra doctor says what this host can enforce.',
    });
  }
  if (!context.asJson) yield `\n${paint('fix', 'Everything went as told.')} Your own: palyra exec -- git status\n`;
}

async function* stepsIn(root: string, context: CommandContext): AsyncGenerator<DemoStep> {
  const person = join(root, 'operator');
  const workspace = join(person, 'project');
  await mkdir(workspace, { recursive: true });
  await furnish(person, workspace);
  // As if it were another person's machine: nothing of the caller's home is looked at.
  const there: CommandContext = {
    ...context,
    home: join(root, 'home'),
    variables: { ...context.variables, HOME: person, PALYRA_HOME: join(root, 'home') },
    userHome: () => person,
    workingDirectory: () => workspace,
  };
  const { home } = findHome(there);
  await using web = await openDemoWeb();
  ensureHome(home);
  writeConfig(home.configFile, web.settings(renderDefaultConfig()), { mode: 'create' });
  const began = performance.now();
  // Steps are told as they happen, so they pass through a queue that the connection fills.
  const queue = createSteps();
  const playing = withDaemon(there, 'operator', async ({ client: operator }) => {
    const took = ((performance.now() - began) / 1000).toFixed(1);
    queue.push({ title: `A home, an authority, two identities, and palyrad: ${took} s`, lines: [], went: 'as told' });
    try {
      await operator.workspaces.add(workspace);
      const signer = await openSigner(home);
      await withDaemon(there, 'agent', async ({ client: agent }) => {
        for await (const step of playSession({ agent, operator, signer, workspace, web, modules: home.modules })) {
          queue.push(step);
        }
      });
    } finally {
      // Whatever went wrong, nothing of it stays.
      await operator.shutdown('now');
    }
  }).finally(() => queue.end());
  try {
    yield* queue.steps;
    await playing;
  } finally {
    // Also when somebody has had enough of it: the home goes, and so does whoever works in it.
    await endThere(there);
    await playing.catch(() => undefined);
  }
  yield await verified(there);
}

async function endThere(there: CommandContext): Promise<void> {
  const { home } = findHome(there);
  if ((await findRunning(home)) === undefined) return;
  await withRunningDaemon(there, 'operator', ({ client }) => client.shutdown('now')).catch(() => undefined);
  while ((await findRunning(home)) !== undefined) await sleep(20);
}

async function verified(context: CommandContext): Promise<DemoStep> {
  const { report } = await verifyTarget(
    undefined,
    { pins: { witnesses: [], checkpoints: [] }, start: undefined },
    context,
  );
  const lines = [`the record is ${report.kind}; palyrad has ended, and nothing of it is needed to see that`];
  return { title: 'The journal, verified offline', lines, went: report.kind === 'sound' ? 'as told' : 'otherwise' };
}

function renderStep({ title, lines, went }: DemoStep, at: number, paint: Paint): string {
  const mark =
    went === 'as told' ? paint('fix', '✓') : went === 'otherwise' ? paint('error', '✗') : paint('faint', '·');
  const note = went === 'not built yet' ? paint('faint', ' (not built yet)') : '';
  return `${mark} ${at}. ${paint('title', safeText(title))}${note}\n${lines.map((line) => `     ${paint('faint', safeText(line))}\n`).join('')}`;
}

interface Steps {
  push(step: DemoStep): void;
  end(): void;
  readonly steps: AsyncIterable<DemoStep>;
}

function createSteps(): Steps {
  const waiting: DemoStep[] = [];
  let isOver = false;
  let wake = (): void => undefined;
  async function* steps(): AsyncGenerator<DemoStep> {
    for (;;) {
      const next = waiting.shift();
      if (next !== undefined) yield next;
      else if (isOver) return;
      else {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    }
  }
  return {
    push(step) {
      waiting.push(step);
      wake();
    },
    end() {
      isOver = true;
      wake();
    },
    steps: steps(),
  };
}
