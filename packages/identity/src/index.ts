export { DAY_MS, DEFAULT_LIFETIMES, type Lifetimes, renewalDueAt } from './ca/lifetimes.ts';
export {
  type AuthorityOptions,
  type CertificateAuthority,
  createAuthority,
  hasAuthority,
  type IssuedCertificate,
  openAuthority,
} from './ca/open-authority.ts';
export { type RollOverOptions, type RollOverStep, rollOver, type TakenStep } from './ca/roll-over.ts';
export { type RollOverState, rollOverState } from './ca/roll-over-state.ts';
export { type AgentCertificate, agentCertificateReader } from './credentials/agent-certificate.ts';
export {
  type CertificateFiles,
  type Credential,
  ensureCredentialKey,
  hasCredential,
  openCredential,
  storeCertificate,
} from './credentials/credential.ts';
export {
  credentialDirectory,
  LOCAL_CREDENTIALS,
  type LocalCredential,
  openAgentCredential,
  openOperatorCredential,
} from './credentials/local-credentials.ts';
export { createSigningRequest } from './credentials/signing-request.ts';
export { DEVICE_KINDS, type DeviceKind, isDeviceKind } from './device-kind.ts';
export {
  type InitialisedCredential,
  type InitialisedIdentity,
  type InitialiseInput,
  initialiseIdentity,
} from './home/initialise-identity.ts';
export {
  type IdentityHome,
  type IdentityReader,
  type OpenedIdentityHome,
  openIdentityHome,
  readIdentityHome,
  registryOn,
} from './home/open-identity-home.ts';
export {
  IDENTITY_ERRORS,
  IDENTITY_REFUSALS,
  IdentityError,
  type IdentityErrorCode,
  type IdentityRefusal,
  type Refused,
} from './identity-error.ts';
export { createDeviceKey, type DeviceKey, isSignedByKey, type KeyAlgorithm } from './keys/device-key.ts';
export type {
  ConfirmPairing,
  FindDevice,
  IssuePairedCertificate,
  PairingRequest,
} from './pairing/certify-device.ts';
export { DEADLINES, type Deadlines } from './pairing/deadlines.ts';
export { checkDeviceName, shownName } from './pairing/device-name.ts';
export type { HostProgress } from './pairing/host-pairing.ts';
export {
  INVITATION_LIFE_MS,
  type Invitation,
  type InvitationEnd,
  type InvitationTerms,
  MAX_TRIES,
  type NewInvitation,
} from './pairing/invitations.ts';
export { createPairedIssuer, type PairedIssuer, type PairingTerms } from './pairing/issue-paired.ts';
export { joinDevice } from './pairing/join-device.ts';
export type {
  CertificateRequest,
  JoinDeps,
  JoinedDevice,
  JoinInput,
  JoinProgress,
  MakeRequest,
} from './pairing/join-pairing.ts';
export {
  type JoinTarget,
  type PairingAddress,
  parseJoinTarget,
  renderAddress,
  renderJoinUrl,
} from './pairing/join-url.ts';
export { issueListenerCredential, type ListenerCredential } from './pairing/listener-credential.ts';
export { isOwnAddress } from './pairing/own-address.ts';
export { PAIRING_ERRORS, PairingError, type PairingErrorCode } from './pairing/pairing-error.ts';
export {
  openPairingListener,
  type PairingListener,
  type PairingListenerDeps,
  type PairingPlace,
} from './pairing/pairing-listener.ts';
export { keyDigestOfRequest } from './pairing/request-key.ts';
export {
  checkName,
  checkPrincipal,
  type Device,
  type DevicePlace,
  REVOCATION_REASONS,
  type Revocation,
  type RevocationReason,
} from './registry/device.ts';
export {
  type CommitIdentity,
  type IdentityEntry,
  type IdentityEvent,
  identityEntryOf,
} from './registry/identity-record.ts';
export { IDENTITY_MIGRATIONS, type IdentitySchema } from './registry/identity-schema.ts';
export {
  type IssueCertificate,
  type IssueTerms,
  issueDeviceCertificate,
} from './registry/issue-device-certificate.ts';
export { openRegistry, type Registry, type RegistryChange, type RegistryDeps } from './registry/open-registry.ts';
export { groupsOf, ROLES, type Role } from './registry/roles.ts';
export { type KeepRenewed, keepRenewed, requestRenewal } from './renewal/keep-renewed.ts';
export { type RenewalInput, type Renewed, renewDevice } from './renewal/renew-device.ts';
export { type HomeRenewal, type RenewHomeDeps, renewHome } from './renewal/renew-home.ts';
export { createRenewalEndpoint, RENEWAL_PATH } from './renewal/renewal-endpoint.ts';
export { type Assurance, assuranceOf } from './signing/assurance.ts';
export {
  type CheckpointCosigner,
  checkpointCosigner,
  createCosignerFinder,
  type FindCosigner,
} from './signing/checkpoint-cosigner.ts';
export { type DeviceDecider, deviceDecider } from './signing/device-decider.ts';
export {
  encodeAssertion,
  type PasskeyAssertion,
  passkeyChallenge,
  type RelyingParty,
} from './signing/verify-passkey.ts';
export { createSignatureVerifier, type VerifySignature } from './signing/verify-signature.ts';
export { type ConnectionEnded, type GuardedListener, guardListener } from './tls/guard-listener.ts';
export { type GuardedHandler, guardRequests, withAnswerHeaders } from './tls/guard-requests.ts';
export {
  createHandshakeThrottle,
  type HandshakeLimits,
  type HandshakeThrottle,
} from './tls/handshake-throttle.ts';
export type { Admission, Peer } from './tls/peer.ts';
export {
  type AdmitOptions,
  createPeerGuard,
  type Holding,
  type PeerGuard,
  type PeerGuardDeps,
} from './tls/peer-guard.ts';
export { createServerCertificate, type ServerCertificate } from './tls/server-certificate.ts';
export {
  anonymousTlsOptions,
  type ClientTlsOptions,
  clientTlsOptions,
  type ServerTlsOptions,
  serverTlsOptions,
  type TlsIdentity,
  tokenServerTlsOptions,
} from './tls/tls-options.ts';
export type { CreatedToken, NewToken } from './tokens/create-token.ts';
export { createEnrolmentEndpoint, ENROLMENT_PATH } from './tokens/enrolment-endpoint.ts';
export { openTokens, type TokenPeer, type Tokens } from './tokens/open-tokens.ts';
export { type Attempt, createThrottle, type Throttle, type Trying } from './tokens/throttle.ts';
export type { Token } from './tokens/token.ts';
export { TOKEN_ACTIONS } from './tokens/token-actions.ts';
export { type MadeRequest, makeRequest } from './x509/make-request.ts';
