import type { Clock, Logger, Sha256Hex } from '@palyra/primitives';
import { PolicyError } from './policy-error.ts';
import type { WatchDirectory } from './watch-directory.ts';

export interface AutoApplyDeps {
  readonly directory: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly watch?: WatchDirectory;
  /** Throws `PolicyError` for what cannot be read. */
  readDigest(): Promise<Sha256Hex>;
  appliedDigest(): Sha256Hex;
  /** Applies what has this digest, and nothing else that may be there by then. */
  apply(digest: Sha256Hex): Promise<unknown>;
}

/** An editor writes a file in several steps: what was read twice the same, this long apart, is whole. */
const SETTLE_MS = 300;
/** File systems exist that tell nobody about changes. */
const POLL_MS = 30_000;

/** Does nothing without `watch`. Answers with the function that stops it, once what it was doing is done. */
export function autoApply(deps: AutoApplyDeps): () => Promise<void> {
  const { directory, clock, watch } = deps;
  if (watch === undefined) return async () => undefined;
  const stop = new AbortController();
  const bell = createBell();
  const stopWatching = watch(directory, bell.ring);
  const done = loop();
  return async () => {
    stop.abort();
    stopWatching();
    await done;
  };

  async function loop(): Promise<void> {
    let refused: string | undefined;
    while (!stop.signal.aborted) {
      const waiting = new AbortController();
      await Promise.race([bell.rung(), sleep(clock, POLL_MS, AbortSignal.any([stop.signal, waiting.signal]))]);
      waiting.abort();
      if (stop.signal.aborted) return;
      bell.reset();
      refused = await tryApply(deps, { refused, signal: stop.signal });
    }
  }
}

/** Answers with what it refused, so that the same fault is told once and not at every look. */
async function tryApply(
  { readDigest, appliedDigest, apply, clock, logger }: AutoApplyDeps,
  { refused, signal }: { readonly refused: string | undefined; readonly signal: AbortSignal },
): Promise<string | undefined> {
  let seen: Sha256Hex | undefined;
  try {
    for (;;) {
      const digest = await readDigest();
      if (digest === appliedDigest()) return undefined;
      if (digest === refused) return refused;
      // SECURITY: T-09 — half of a file may be valid policies without the forbid that was to follow.
      if (digest === seen) {
        await apply(digest);
        return undefined;
      }
      seen = digest;
      await sleep(clock, SETTLE_MS, signal);
      if (signal.aborted) return refused;
    }
  } catch (thrown) {
    const told = seen ?? (thrown instanceof PolicyError ? thrown.message : 'unknown');
    if (told !== refused) logger.warn({ error: thrown }, 'edited policies are not used, the last good ones stay');
    return told;
  }
}

interface Bell {
  ring(): void;
  rung(): Promise<void>;
  reset(): void;
}

/** Remembers that it rang until someone has looked. */
function createBell(): Bell {
  let ring = (): void => undefined;
  let rung = Promise.resolve();
  const reset = (): void => {
    rung = new Promise((resolve) => {
      ring = resolve;
    });
  };
  reset();
  return { ring: () => ring(), rung: () => rung, reset };
}

/** Ends early, and in peace, when the signal is given. */
async function sleep(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  await clock.sleep(ms, signal).catch((thrown: unknown) => {
    if (!signal.aborted) throw thrown;
  });
}
