import type { Authority } from './authority-file.ts';
import { DEFAULT_LIFETIMES, type Lifetimes } from './lifetimes.ts';

/** Where a home stands between one authority and the next, and when the step after that is due. */
export interface RollOverState {
  /** `steady`: one authority. `prepared`: the next is known and signs nothing. `activated`: it signs, the old one still counts. */
  readonly kind: 'steady' | 'prepared' | 'activated';
  /** What palyrad does then by itself. */
  readonly next: 'prepare' | 'activate' | 'retire';
  readonly dueAt: number;
}

/** Of the authorities that count now: `CertificateAuthority.trusted()`. */
export function rollOverState(
  authorities: readonly Pick<Authority, 'state' | 'createdAt' | 'trustedUntil'>[],
  lifetimes: Partial<Lifetimes> = {},
): RollOverState {
  const { overlapMs, rollOverMs } = { ...DEFAULT_LIFETIMES, ...lifetimes };
  const [next, previous, current] = (['next', 'previous', 'current'] as const).map((state) =>
    authorities.find((each) => each.state === state),
  );
  if (next !== undefined) return { kind: 'prepared', next: 'activate', dueAt: next.createdAt + overlapMs };
  if (previous !== undefined) return { kind: 'activated', next: 'retire', dueAt: previous.trustedUntil };
  return { kind: 'steady', next: 'prepare', dueAt: (current?.trustedUntil ?? 0) - rollOverMs };
}
