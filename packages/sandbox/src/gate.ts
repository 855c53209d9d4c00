import type { Logger } from '@palyra/primitives';
import { compare } from './facts/compare.ts';
import type { ExpectedFacts } from './facts/expected-facts.ts';
import type { RawFacts } from './facts/raw-facts.ts';
import { type LaunchPlan, STAGING, type ToolIdentity } from './launch-plan.ts';
import type { GatePlan } from './launcher/encode-request.ts';
import type { HandedPipes } from './launcher/handed-pipes.ts';
import { CLOSED, type Job, type JobEvents, type Launcher } from './launcher/start-launcher.ts';
import { GATE_CHANNEL } from './launcher/wire.ts';
import { createOutputCredit, OUTPUT_WINDOW } from './output-credit.ts';
import { SandboxError } from './sandbox-error.ts';
import { outOfReach } from './survey/out-of-reach.ts';
import type { SurveyFiles } from './survey/survey-files.ts';

/** A Node program that decides about the connections of commands. It is handed their listeners over its IPC channel. */
export interface GateProgram {
  /** The program by its absolute path, and its arguments. */
  readonly argv: readonly string[];
  /** All that it gets. */
  readonly environment: Readonly<Record<string, string>>;
  /**
   * Directories and files that it is read from, those of `argv` among them. Where the gate's user could not reach one, because it
   * lies in a home for example, root hands it over, read-only and at another place.
   */
  readonly readFrom?: readonly string[];
}

/** One that runs, outside of every sandbox. */
export interface Gate {
  /** To its stdin; resolves when it is on its way. Rejects with `sandbox.gate_closed`. */
  write(bytes: Uint8Array): Promise<void>;
  /** Its stdout. What came before anybody listened is kept for the first who does. */
  onOutput(listener: (bytes: Uint8Array) => void): void;
  /** Resolves when it is gone, for whatever reason. */
  readonly ended: Promise<void>;
  /** Ends it, and every listener with it. */
  close(): Promise<void>;
}

export interface Gates {
  /** Throws `sandbox.gate_closed` when it cannot be started, and `sandbox.unsafe_identity`. */
  open(program: GateProgram): Promise<Gate>;
  /** Undefined when it is closed, or none of ours. */
  numberOf(gate: Gate): number | undefined;
}

export interface GatesDeps {
  readonly launcher: Launcher;
  /** Whose it is; undefined where the launcher has only its own user. */
  readonly identity: ToolIdentity | undefined;
  readonly files: Pick<SurveyFiles, 'stat'>;
  readonly logger: Pick<Logger, 'error'>;
}

/** Of what it says on stderr, in its whole life. */
const MOST_LOGGED = 64 * 1024;

export function createGates({ launcher, identity, files, logger }: GatesDeps): Gates {
  const numbers = new WeakMap<Gate, number>();
  return {
    numberOf: (gate) => numbers.get(gate),
    open(program) {
      const plan = planGate(program, { identity, files, handsOver: launcher.about.only === undefined });
      const opened = Promise.withResolvers<Gate>();
      const ended = Promise.withResolvers<void>();
      const log = createCappedLog(logger);
      let pipes: HandedPipes | undefined;
      let isHeard = false;
      const gate: Gate = {
        ended: ended.promise,
        onOutput(listener) {
          isHeard = true;
          pipes?.listen(listener);
        },
        async write(bytes) {
          if ((await pipes?.send(bytes)) !== true) throw gateClosedError();
        },
        close() {
          job.kill();
          return ended.promise;
        },
      };
      const over = (why: string | undefined) => {
        numbers.delete(gate);
        if (why !== undefined) logger.error({ why }, 'The gate ended.');
        opened.reject(gateClosedError(why));
        // What it said last comes by a way of its own, and perhaps later.
        if (!isHeard) pipes?.close();
        void (pipes?.ended ?? Promise.resolve()).then(() => {
          pipes?.close();
          ended.resolve();
        });
      };
      const events: JobEvents = {
        facts(raw) {
          void findings(raw, launcher, identity).then((found) => {
            if (found.length === 0) return job.go({ handOver: true });
            opened.reject(gateClosedError(found.join(' ')));
            job.kill();
          });
        },
        taken: () => undefined,
        // Each word of a call goes to it and back: through the launcher that would be twice as many wake-ups.
        pipes(handed) {
          pipes = handed;
          numbers.set(gate, job.number);
          opened.resolve(gate);
        },
        output(_stream, bytes) {
          log(bytes);
          allow(bytes.length);
        },
        ended: ({ reason, exitCode, signal }) =>
          over(reason === 'cancelled' ? undefined : `exit code ${exitCode}, signal ${signal}`),
        failed: over,
        lost({ message }) {
          // Nobody says any more when all of it is dead.
          pipes?.close();
          over(message === CLOSED ? undefined : message);
        },
      };
      const job: Job = launcher.startGate(plan, events);
      const allow = createOutputCredit(() => job);
      job.allow(OUTPUT_WINDOW);
      return opened.promise;
    },
  };
}

export interface GatePlanning extends Pick<GatesDeps, 'identity' | 'files'> {
  /** A launcher that works for one user hands nothing of root's over. */
  readonly handsOver: boolean;
}

/** Throws `sandbox.unsafe_identity`. */
export function planGate(
  { argv, environment, readFrom = [] }: GateProgram,
  { identity, files, handsOver }: GatePlanning,
): GatePlan {
  const hidden = handsOver ? [...outOfReach(readFrom, identity, files)] : [];
  const staged = hidden.map((source, at) => ({ name: `gate-${at}`, source, readOnly: true, idmap: false }));
  const words = argv.map((word) => placeOf(word, staged));
  refuseUnreachable(words, identity, files);
  const variables = { ...environment, NODE_CHANNEL_FD: String(GATE_CHANNEL) };
  const tool = {
    path: words[0] ?? '',
    argv: words,
    environment: Object.entries(variables).map(([name, value]) => `${name}=${value}`),
    cwd: '/',
    terminal: undefined,
  };
  return { tool, identity, staged };
}

/** Where the gate finds what is handed over to it. */
function placeOf(word: string, staged: LaunchPlan['staged']): string {
  const over = staged.find(({ source }) => word === source || word.startsWith(`${source}/`));
  return over === undefined ? word : `${STAGING}/${over.name}${word.slice(over.source.length)}`;
}

/** SECURITY: T-42 — of root's launcher it has a user of its own, and that is looked at before it begins, as with any tool. */
async function findings(
  raw: RawFacts,
  { about }: Launcher,
  identity: ToolIdentity | undefined,
): Promise<readonly string[]> {
  const expected: ExpectedFacts = {
    identity,
    noGroups: identity !== undefined,
    namespaces: [],
    seccomp: false,
    noCapabilities: true,
    isolatedNetwork: false,
    rlimits: [],
    mounts: undefined,
    cgroups: [],
    landlock: false,
    listener: false,
    bound: [],
  };
  try {
    const compared = await compare(raw, expected, about);
    return compared.kind === 'as_planned' ? [] : compared.findings.map(({ what }) => what);
  } catch (error) {
    return [error instanceof Error ? error.message : 'Its facts cannot be read.'];
  }
}

/** Root may read it; the user that it gets may not. */
function refuseUnreachable(
  argv: readonly string[],
  identity: ToolIdentity | undefined,
  files: Pick<SurveyFiles, 'stat'>,
): void {
  const paths = argv.filter((each) => each.startsWith('/') && files.stat(each) !== undefined);
  if (outOfReach(paths, identity, files).size === 0) return;
  throw new SandboxError('sandbox.unsafe_identity', 'The proxy has a user of its own, who cannot read its program.', {
    fix: 'Install Palyra, and Node, where every user may read (not in a home), or run palyrad as an ordinary user.',
  });
}

/** SECURITY: T-39 — a program that complains for ever does not fill the log, and is not made to wait either. */
function createCappedLog(logger: Pick<Logger, 'error'>): (bytes: Buffer) => void {
  let left = MOST_LOGGED;
  return (bytes) => {
    const text = bytes.subarray(0, left).toString('utf8').trim();
    left -= Math.min(left, bytes.length);
    if (text !== '') logger.error({ text }, 'The gate said something.');
  };
}

export function gateClosedError(why = ''): SandboxError {
  const message = why === '' ? 'The gate is closed.' : `The gate is closed: ${why}`;
  return new SandboxError('sandbox.gate_closed', message, {
    fix: 'Open another one; palyrad’s log says why it ended.',
  });
}
