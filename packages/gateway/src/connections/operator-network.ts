import { DEFAULT_EGRESS_LIMITS, type EgressLimits } from '@palyra/egress';

/** What the operator configured about the network of calls. */
export interface OperatorNetwork {
  /** `host:port` of package registries, which are one question together. */
  readonly registryHosts: readonly string[];
  /** Private ranges (CIDR) and loopback ports (`127.0.0.1:8080`) that may be connected to all the same. */
  readonly privateRanges: readonly string[];
  /** What becomes of a host that a call did not name, unless the call says. */
  readonly unlisted: 'ask' | 'deny';
  /** Names that the operator has addresses for, as in a hosts file. */
  readonly pinned: Readonly<Record<string, readonly string[]>>;
  /** PEM of authorities that are trusted beside the system's, by the proxy itself. */
  readonly authorities: readonly string[];
  readonly limits: EgressLimits;
}

/** Nothing private, nothing known; hosts that a call did not name are asked about. */
export const DEFAULT_OPERATOR_NETWORK: OperatorNetwork = {
  registryHosts: [],
  privateRanges: [],
  unlisted: 'ask',
  pinned: {},
  authorities: [],
  limits: DEFAULT_EGRESS_LIMITS,
};
