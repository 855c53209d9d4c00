import { compare } from '../facts/compare.ts';
import type { MeasuredFacts } from '../facts/measured-facts.ts';
import type { RawFacts } from '../facts/raw-facts.ts';
import type { LaunchPlan } from '../launch-plan.ts';
import type { Job, JobEvents, Launcher } from '../launcher/start-launcher.ts';
import { SandboxError } from '../sandbox-error.ts';
import { isAsMeasured, isStillThere, type StampFiles, stampMounts } from './mount-stamp.ts';

/** Started, measured, compared with its plan, and waiting for the one tool that it will ever run. */
export interface WarmSandbox {
  readonly facts: MeasuredFacts;
  /** Alive, and its mounts are those of its plan. */
  isSound(): boolean;
  /** Whoever takes it over hears of it from now on, and gives the word. */
  adopt(events: JobEvents): Job;
  end(): void;
}

export interface WarmDeps {
  readonly launcher: Launcher;
  readonly files: StampFiles;
  /** After this the launcher ends it, whatever happens here. */
  readonly lifeMs: number;
}

/** Undefined when it did not come to that: whoever runs the command next is told why. Does not throw. */
export function warmUp(plan: LaunchPlan, { launcher, files, lifeMs }: WarmDeps): Promise<WarmSandbox | undefined> {
  const stamp = stampMounts(plan, files);
  const ready = Promise.withResolvers<WarmSandbox | undefined>();
  let isAlive = true;
  let adopted: JobEvents | undefined;
  const gone = () => {
    isAlive = false;
    ready.resolve(undefined);
  };
  const events: JobEvents = {
    facts(raw) {
      void measured(raw, plan, launcher).then((facts) => wait(raw, facts));
    },
    output: (stream, bytes) => adopted?.output(stream, bytes),
    taken: (bytes) => adopted?.taken(bytes),
    ended(report) {
      gone();
      adopted?.ended(report);
    },
    failed(message) {
      gone();
      adopted?.failed(message);
    },
    lost(fault) {
      gone();
      adopted?.lost(fault);
    },
  };
  const wait = (raw: RawFacts, facts: MeasuredFacts | undefined) => {
    const isSound = () => isAlive && isStillThere(stamp, files) && isAsMeasured(plan, raw, files);
    if (facts === undefined || !isSound()) {
      job.kill();
      return;
    }
    const adopt = (heir: JobEvents) => {
      adopted = heir;
      return job;
    };
    ready.resolve({ facts, isSound, adopt, end: () => job.kill() });
  };
  let job: Job;
  try {
    job = launcher.start(plan, events, { stdin: true, toolLaterMs: lifeMs });
  } catch (error) {
    // There is no launcher any more.
    if (!(error instanceof SandboxError)) throw error;
    gone();
  }
  return ready.promise;
}

/** SECURITY: T-20 — what differs, or cannot be read, never waits for a tool. */
async function measured(raw: RawFacts, plan: LaunchPlan, { about }: Launcher): Promise<MeasuredFacts | undefined> {
  try {
    const compared = await compare(raw, plan.expected, about);
    return compared.kind === 'as_planned' ? compared.facts : undefined;
  } catch {
    return undefined;
  }
}
