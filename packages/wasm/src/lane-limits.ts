export interface LaneLimits {
  /** Host processes at once, whoever they are for. */
  readonly hosts: number;
  /** Of one principal and module. */
  readonly hostsOfOne: number;
  /** Calls of all that wait for a host. */
  readonly waiting: number;
  /** After so many calls a host is replaced. */
  readonly callsPerHost: number;
  /** And after so many bytes that it has said: the sandbox keeps what a command says for as long as it runs. */
  readonly saidBytes: number;
  /** How long one without a call is kept. */
  readonly idleMs: number;
}

export const DEFAULT_LANE_LIMITS: LaneLimits = {
  hosts: 4,
  hostsOfOne: 2,
  waiting: 10_000,
  callsPerHost: 100_000,
  saidBytes: 32 * 1024 * 1024,
  idleMs: 60_000,
};
