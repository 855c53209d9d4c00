/**
 * Stands for palyrad: owns a sandbox and does what it is told, one JSON line for each order and each event. Started by
 * ../sandboxed.ts as root or as an ordinary user, so that both ways are one.
 */

import { flushCompileCache } from 'node:module';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import {
  type Binding,
  createSandbox,
  type Gate,
  type LaunchPlan,
  type OperatorPlaces,
  type Refusal,
  type RunResult,
  type Sandbox,
  type SandboxCommand,
  type SandboxOptions,
  type SandboxProfile,
} from '@palyra/sandbox';
import { createPretendedSandbox, type Pretence } from './pretended-sandbox.ts';

export interface DaemonSettings {
  readonly operator: OperatorPlaces;
  readonly launcherProgram: string;
  readonly pretence: Pretence | undefined;
  readonly pool: NonNullable<SandboxOptions['pool']>;
}

export type DaemonOrder =
  | {
      readonly order: 'run';
      readonly id: number;
      readonly command: SandboxCommand;
      readonly profile: SandboxProfile;
      /** No piece of output counts as consumed until `consume`. */
      readonly holdOutput: boolean;
      readonly input: string | undefined;
      readonly bound: Binding | undefined;
      /** With a way out through the gate that is open, or was. */
      readonly label: string | undefined;
    }
  /** Opens the gate of label-gate.mjs; answered with `gate`. */
  | { readonly order: 'gate' }
  | {
      readonly order: 'bind';
      readonly question: number;
      readonly command: SandboxCommand;
      readonly profile: SandboxProfile;
    }
  /** Answered with `planned`; nothing is run. */
  | { readonly order: 'plan'; readonly command: SandboxCommand; readonly profile: SandboxProfile }
  | { readonly order: 'consume'; readonly id: number }
  | { readonly order: 'cancel'; readonly id: number }
  /** Answered with `warmed` when no sandbox is being started ahead. */
  | { readonly order: 'warm' }
  | { readonly order: 'close' };

/** A plan without bytes: its data are text. */
export type PlanInText = Omit<LaunchPlan, 'data' | 'filter'> & {
  readonly data: readonly { readonly fd: number; readonly base64: string }[];
};

/** A result without bytes: its output is text. */
export type Outcome = Exclude<RunResult, { output: unknown }> | TextOf<Extract<RunResult, { output: unknown }>>;
type TextOf<Result> = Result extends unknown
  ? Omit<Result, 'output'> & { readonly output: { readonly stdout: string; readonly stderr: string } }
  : never;

export type DaemonEvent =
  | { readonly event: 'ready'; readonly launcherPid: number; readonly cgroups: string }
  | { readonly event: 'refused'; readonly code: string }
  | { readonly event: 'bound'; readonly question: number; readonly answer: Binding | Refusal }
  | { readonly event: 'planned'; readonly plan: PlanInText | Refusal }
  | { readonly event: 'warmed'; readonly waiting: number }
  | { readonly event: 'gate'; readonly text: string }
  | { readonly event: 'started'; readonly id: number }
  | { readonly event: 'output'; readonly id: number; readonly text: string }
  | { readonly event: 'ended'; readonly id: number; readonly outcome: Outcome };

interface Running {
  readonly abort: AbortController;
  readonly consume: () => void;
}

const settings = JSON.parse(process.argv[2] ?? '') as DaemonSettings;
const running = new Map<number, Running>();
let gate: Gate | undefined;

function say(event: DaemonEvent): void {
  process.stdout.write(`${JSON.stringify(event)}\n`);
}

try {
  const { pretence, ...places } = settings;
  const options = { ...places, logger: console };
  const sandbox = await (pretence === undefined ? createSandbox(options) : createPretendedSandbox(options, pretence));
  // For the next one: Node would write it down at the end, and many of these are killed.
  flushCompileCache();
  say({ event: 'ready', launcherPid: sandbox.about.launcher.pid, cgroups: sandbox.about.cgroups.kind });
  for await (const line of createInterface({ input: process.stdin })) {
    const order = JSON.parse(line) as DaemonOrder;
    if (order.order === 'close') break;
    if (order.order === 'cancel') running.get(order.id)?.abort.abort();
    else if (order.order === 'warm') void sandbox.warmed().then((waiting) => say({ event: 'warmed', waiting }));
    else if (order.order === 'gate') gate = await openGate(sandbox);
    else if (order.order === 'consume') running.get(order.id)?.consume();
    else if (order.order === 'plan') say({ event: 'planned', plan: await plan(sandbox, order) });
    else if (order.order === 'bind') {
      const { question, command, profile } = order;
      void sandbox.bind(command, profile).then((answer) => say({ event: 'bound', question, answer }));
    } else void run(sandbox, order);
  }
  await sandbox.close();
  process.exit(0);
} catch (error) {
  say({ event: 'refused', code: error instanceof Error && 'code' in error ? String(error.code) : String(error) });
}

async function openGate(sandbox: Sandbox): Promise<Gate> {
  const program = fileURLToPath(new URL('label-gate.mjs', import.meta.url));
  const readFrom = [process.execPath, dirname(program)];
  const opened = await sandbox.openGate({ argv: [process.execPath, program], environment: {}, readFrom });
  opened.onOutput((bytes) => say({ event: 'gate', text: Buffer.from(bytes).toString() }));
  void opened.ended.then(() => say({ event: 'gate', text: 'ended\n' }));
  return opened;
}

async function plan(
  sandbox: Sandbox,
  { command, profile }: Extract<DaemonOrder, { order: 'plan' }>,
): Promise<PlanInText | Refusal> {
  const planned = await sandbox.plan(command, profile);
  if (planned.kind === 'refused') return planned;
  const { data, filter: _, ...rest } = planned.plan;
  return { ...rest, data: data.map(({ fd, bytes }) => ({ fd, base64: Buffer.from(bytes).toString('base64') })) };
}

async function run(
  sandbox: Sandbox,
  { id, command, profile, holdOutput, input, bound, label }: Extract<DaemonOrder, { order: 'run' }>,
): Promise<void> {
  const abort = new AbortController();
  const consumed = Promise.withResolvers<void>();
  running.set(id, { abort, consume: consumed.resolve });
  const result = await sandbox.run(command, profile, {
    signal: abort.signal,
    ...(input === undefined ? {} : { input: [Buffer.from(input)] }),
    ...(bound === undefined ? {} : { bound }),
    ...(label === undefined || gate === undefined ? {} : { wayOut: { gate, label } }),
    onStart: () => say({ event: 'started', id }),
    onOutput: (_stream, bytes) => {
      say({ event: 'output', id, text: Buffer.from(bytes.subarray(0, 4096)).toString('latin1') });
      return holdOutput ? consumed.promise : undefined;
    },
  });
  running.delete(id);
  say({ event: 'ended', id, outcome: withText(result) });
}

function withText(result: RunResult): Outcome {
  if (!('output' in result)) return result;
  const { stdout, stderr } = result.output;
  const text = (bytes: Uint8Array) => Buffer.from(bytes.subarray(0, 1024 * 1024)).toString('utf8');
  return { ...result, output: { stdout: text(stdout), stderr: text(stderr) } };
}
