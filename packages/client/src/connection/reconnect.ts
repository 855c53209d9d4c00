import { type Clock, systemClock } from '@palyra/primitives';
import type { ClientError } from '../client-error.ts';
import { isLost } from './translate-error.ts';

/** How long and how often to try again. */
export interface ReconnectOptions {
  /** After this long without a connection it gives up: 60 seconds unless told. */
  readonly giveUpAfterMs?: number;
  /** The first pause, 50 ms unless told; each one after it is twice as long. */
  readonly firstPauseMs?: number;
  /** 2 seconds unless told. */
  readonly longestPauseMs?: number;
}

export interface ReconnectDeps {
  readonly options?: ReconnectOptions;
  readonly clock?: Clock;
  /** Between 0 and 1: thousands of clients must not come back in one moment. */
  readonly random?: () => number;
}

/** The patience of one stream. */
export interface Reconnect {
  /** palyrad was reached, and the stream is being opened. */
  opened(): void;
  /** Something came: the connection is a good one. */
  heard(): void;
  /** Waits for the next attempt. Throws the error when it is of no use, when the time is over or the signal says so. */
  pause(why: ClientError, signal: AbortSignal): Promise<void>;
}

/** A stream that was open for so long was a good one, also when nothing happened on it. */
const STEADY_MS = 5_000;

export function createReconnect({ options = {}, clock = systemClock, random = Math.random }: ReconnectDeps): Reconnect {
  const { giveUpAfterMs = 60_000, firstPauseMs = 50, longestPauseMs = 2_000 } = options;
  let lostAt: number | undefined;
  let openedAt: number | undefined;
  let nextPauseMs = firstPauseMs;
  function heard(): void {
    lostAt = undefined;
    nextPauseMs = firstPauseMs;
  }
  return {
    opened: () => {
      openedAt = clock.now();
    },
    heard,
    async pause(why, signal) {
      if (!isLost(why) || signal.aborted) throw why;
      const now = clock.now();
      if (openedAt !== undefined && now - openedAt >= STEADY_MS) heard();
      openedAt = undefined;
      lostAt ??= now;
      if (now - lostAt >= giveUpAfterMs) throw why;
      const pauseMs = nextPauseMs * (0.5 + random() / 2);
      nextPauseMs = Math.min(nextPauseMs * 2, longestPauseMs);
      await clock.sleep(pauseMs, signal).catch(() => {
        throw why;
      });
    },
  };
}
