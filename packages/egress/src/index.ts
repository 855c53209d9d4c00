export { type AddressKind, classifyAddress, isPublicAddress } from './addresses/classify-address.ts';
export { createPrivateRanges, type PrivateRanges } from './addresses/private-ranges.ts';
export {
  createEgress,
  type Egress,
  type EgressDeps,
  type GateLink,
  type OpenedEgress,
  type OpenedFetches,
} from './create-egress.ts';
export type { EgressDenial } from './denial.ts';
export {
  type AskAnswer,
  type AttemptProtocol,
  type ConnectionAttempt,
  type CredentialBinding,
  DEFAULT_EGRESS_LIMITS,
  type EgressCall,
  type EgressLimits,
} from './egress-call.ts';
export {
  EGRESS_DENIALS,
  EGRESS_ERRORS,
  type EgressDenialCode,
  EgressError,
  type EgressErrorCode,
} from './egress-error.ts';
export {
  DEFAULT_FETCH_LIMITS,
  type FetchHop,
  type FetchLimits,
  type FetchRequest,
  type FetchResult,
} from './fetch-request.ts';
export {
  type CanonicalHost,
  canonicalHost,
  type HostFault,
  isMalformed,
  type Malformed,
} from './hosts/canonical-host.ts';
export { covers, formatHostRule, type HostRule, narrowestRule } from './hosts/host-rule.ts';
export { type LookalikeOptions, lookalikeWarning } from './hosts/lookalike-warning.ts';
export {
  explainMalformed,
  parseHostRule,
  parseHostRules,
  type ReadRule,
  readHostRule,
} from './hosts/parse-host-rule.ts';
export { canonicalTarget, formatTarget, type Scheme, type Target } from './hosts/target.ts';
export { checkPreflight, type Preflight } from './preflight/check-preflight.ts';
export { hostsInArguments, type RecognisedHosts, recogniseHosts } from './preflight/hosts-in-arguments.ts';
export { type ProxyProgram, proxyProgram } from './proxy-program-place.ts';
export { DOOR_WORD } from './wire/door.ts';
