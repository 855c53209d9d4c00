import type { AppError } from '@palyra/primitives';
import { DaemonError } from '../daemon-error.ts';

const SHORTEST = 4;

/** The one of this id, or whose id alone ends so. Throws `daemon.invalid_request` for several, and `none` for none. */
export function pickId<Each extends { readonly id: string }>(
  typed: string,
  all: readonly Each[],
  none: () => AppError,
): Each {
  const wanted = typed.toUpperCase();
  const [only, another] = wanted.length < SHORTEST ? [] : all.filter(({ id }) => id.endsWith(wanted));
  if (only === undefined) throw none();
  if (another === undefined) return only;
  throw new DaemonError('daemon.invalid_request', 'The ids of several end so.', { fix: 'Give more of it.' });
}
