import type { RunOptions } from './run-job.ts';
import type { Refusal } from './run-result.ts';

/** False when it never will be: whoever asked gave it up, or could not say yes. */
export async function isLetGo({ mayBegin, signal }: Pick<RunOptions, 'mayBegin' | 'signal'>): Promise<boolean> {
  if (mayBegin === undefined) return true;
  if (signal?.aborted === true) return false;
  const given = Promise.withResolvers<boolean>();
  const giveUp = () => given.resolve(false);
  signal?.addEventListener('abort', giveUp, { once: true });
  mayBegin.then(() => given.resolve(true), giveUp);
  try {
    return await given.promise;
  } finally {
    signal?.removeEventListener('abort', giveUp);
  }
}

export function notLetGo(): Refusal {
  return {
    kind: 'refused',
    code: 'sandbox.not_begun',
    message: 'The sandbox was ready, and its command was not let go.',
    fix: 'Propose the call again.',
  };
}
