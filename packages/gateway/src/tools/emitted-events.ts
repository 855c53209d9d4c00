import { createHash } from 'node:crypto';
import type { Sha256Hex } from '@palyra/primitives';
import type { ExecuteContext } from '../catalog/tool.ts';

/** How many events a guest has emitted, and the digest of the lines that they were on the run's stream. */
export interface EmittedEvents {
  readonly count: number;
  readonly sha256: Sha256Hex;
}

export interface EmittedRecord {
  /** In the place of whoever listens: hears first what it is told, and remembers it when it was heard. */
  readonly onOutput: NonNullable<ExecuteContext['onOutput']>;
  /** One was told. */
  count(): void;
  /** Once, when nothing more is told. Undefined: there were none. */
  taken(): EmittedEvents | undefined;
}

/**
 * The stream passes and is gone; the record of a call says what was on it. SECURITY: T-24, T-54 — of the lines as they were told,
 * without secrets, and only in the output of the call, to which its attestation commits under a salt.
 */
export function recordEmitted({ onOutput }: Pick<ExecuteContext, 'onOutput'>): EmittedRecord {
  const digest = createHash('sha256');
  let count = 0;
  return {
    async onOutput(stream, bytes) {
      await onOutput?.(stream, bytes);
      if (stream === 'stdout') digest.update(bytes);
    },
    count() {
      count += 1;
    },
    taken: () => (count === 0 ? undefined : { count, sha256: digest.digest('hex') as Sha256Hex }),
  };
}
