import { denial } from '../denial.ts';
import type { Line } from './line.ts';
import type { OpenAttempt } from './open-attempt.ts';

/** Two connections become one, in both directions. */
export function joinLines(client: Line, upstream: Line, attempt: OpenAttempt): void {
  flowDown(upstream, client, attempt);
  flowUp(client, upstream, attempt);
  endTogether(client, upstream, attempt);
}

export function flowDown(upstream: Line, client: Line, attempt: OpenAttempt): void {
  flow({ from: upstream, to: client, count: attempt.moveIn }, () => stop(client, upstream, attempt));
}

export function flowUp(client: Line, upstream: Line, attempt: OpenAttempt): void {
  flow({ from: client, to: upstream, count: attempt.moveOut }, () => stop(client, upstream, attempt));
}

interface Flow {
  readonly from: Line;
  readonly to: Line;
  count(bytes: number): boolean;
}

function flow({ from, to, count }: Flow, whenTooMuch: () => void): void {
  to.onDrain(() => from.resume());
  from.flow({
    data(chunk) {
      if (!count(chunk.length)) {
        whenTooMuch();
        return;
      }
      if (!to.push(chunk)) from.pause();
    },
    end: () => to.end(),
  });
}

function stop(client: Line, upstream: Line, attempt: OpenAttempt): void {
  attempt.end({ kind: 'stopped', denial: denial('egress.too_many_bytes', attempt.target) });
  client.destroy();
  upstream.destroy();
}

/** When one is closed for good, so is the other; what it has still to say is said first. */
export function endTogether(client: Line, upstream: Line, attempt: OpenAttempt): void {
  client.onClosed(() => {
    upstream.destroy();
    attempt.end();
  });
  upstream.onClosed(() => {
    client.end();
    attempt.end();
  });
}
