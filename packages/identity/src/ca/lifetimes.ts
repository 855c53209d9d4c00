/** How long things live. A certificate is short, because what it says is believed without asking until then. */
export const DAY_MS: number = 86_400_000;

export interface Lifetimes {
  readonly authorityMs: number;
  readonly certificateMs: number;
  /** How long a new authority is known before it signs, and an old one is trusted after it signed last. */
  readonly overlapMs: number;
  /** How long before the end of an authority the next one is made. */
  readonly rollOverMs: number;
}

export const DEFAULT_LIFETIMES: Lifetimes = {
  authorityMs: 730 * DAY_MS,
  certificateMs: 7 * DAY_MS,
  overlapMs: 14 * DAY_MS,
  rollOverMs: 90 * DAY_MS,
};

/** Longer than any invitation. Programs that know a server by its host name alone would take it for palyrad's for so long. */
export const PAIRING_CERTIFICATE_MS: number = 30 * 60_000;

/** Before a certificate begins: clocks of devices differ, and one that is behind must be able to use what it was given. */
export const CLOCK_SKEW_MS: number = 5 * 60_000;

/** When two thirds of its life are over, a certificate is renewed; the old one stays good for the rest. */
export function renewalDueAt({
  notBefore,
  notAfter,
}: {
  readonly notBefore: number;
  readonly notAfter: number;
}): number {
  return notBefore + Math.floor(((notAfter - notBefore) * 2) / 3);
}
