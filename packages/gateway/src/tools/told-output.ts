import type { Clock } from '@palyra/primitives';
import type { ExecuteContext } from '../catalog/tool.ts';
import type { Redactor } from '../redact/create-redactor.ts';
import type { SettlingFilter } from '../redact/detect-tokens.ts';

export interface ToldOutput {
  take(stream: 'stdout' | 'stderr', bytes: Uint8Array): Promise<void>;
  /** Does not throw: the command is over, whether or not somebody still listens. */
  end(how: 'whole' | 'cut'): Promise<void>;
}

export interface ToldOutputDeps {
  /** Without it output is passed on as it is. */
  readonly redact: Pick<Redactor, 'redactStream' | 'redactTerminal'> | undefined;
  readonly clock: Clock;
  /** Somebody may wait for a prompt, or for the letter that was typed. */
  readonly isTerminal: boolean;
}

/** Nobody notices it, and no program pauses so long within a word. */
const QUIET_MS = 30;

/** SECURITY: T-24 — what is told while it runs is as free of secrets as what is told at the end. */
export function toldOutput(
  { onOutput }: Pick<ExecuteContext, 'onOutput'>,
  { redact, clock, isTerminal }: ToldOutputDeps,
): ToldOutput {
  const tell = async (stream: 'stdout' | 'stderr', bytes: Uint8Array) => {
    if (bytes.length > 0) await onOutput?.(stream, bytes);
  };
  if (redact === undefined) return { take: tell, end: async () => undefined };
  // A terminal has one stream.
  const terminal = isTerminal ? redact.redactTerminal() : undefined;
  const filters = { stdout: terminal ?? redact.redactStream(), stderr: redact.redactStream() };
  const settling = terminal && settleWhenQuiet(terminal, { clock, tell: (bytes) => tell('stdout', bytes) });
  return {
    async take(stream, bytes) {
      settling?.wait();
      await tell(stream, filters[stream].write(bytes));
    },
    async end(how) {
      settling?.stop();
      for (const stream of ['stdout', 'stderr'] as const) {
        await tell(stream, filters[stream].end(how)).catch(() => {});
      }
    },
  };
}

interface Settling {
  /** Something came: what is held back may be settled when nothing more does. */
  wait(): void;
  stop(): void;
}

interface SettlingDeps {
  readonly clock: Clock;
  tell(bytes: Uint8Array): Promise<void>;
}

function settleWhenQuiet(filter: SettlingFilter, { clock, tell }: SettlingDeps): Settling {
  let waiting = new AbortController();
  const stop = () => waiting.abort('over');
  return {
    wait() {
      stop();
      waiting = new AbortController();
      clock.sleep(QUIET_MS, waiting.signal).then(
        // Who is gone is told of no more; the command goes on.
        () => tell(filter.settle()).catch(() => {}),
        () => undefined,
      );
    },
    stop,
  };
}
