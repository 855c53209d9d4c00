/** What browsers can load too: nothing here, or below it, imports from `node:`. */
export { AppError, type AppErrorOptions } from './app-error.ts';
export {
  canonicalJson,
  canonicalJsonBytes,
  type JsonObject,
  type JsonValue,
  MAX_JSON_DEPTH,
} from './canonical-json.ts';
export { type Clock, systemClock } from './clock.ts';
export { describeError, type ErrorDescription } from './describe-error.ts';
export { type HostInspection, type HostWarning, type InspectHostOptions, inspectHost } from './host-look-alikes.ts';
export {
  type ApprovalId,
  type AttestationId,
  type CallId,
  type ChannelId,
  createIdSource,
  type DeviceId,
  type EntryId,
  type GrantId,
  type Id,
  type IdKind,
  type IdSource,
  type IdSourceDeps,
  idTime,
  type MessageId,
  type NodeId,
  type PairingId,
  type PrincipalId,
  parseId,
  type RequestId,
  type RunId,
  type SessionId,
  type SkillId,
  type TokenId,
  type WorkspaceId,
} from './ids.ts';
export { JsonTextError, type TextPosition } from './json-cursor.ts';
export { type ParseJsonOptions, parseJson } from './parse-json.ts';
export { PRIMITIVES_ERRORS, PrimitivesError, type PrimitivesErrorCode } from './primitives-error.ts';
export { type RandomBytes, secureRandomBytes } from './random-bytes.ts';
export { safeText } from './safe-text.ts';
export { reveal, Secret, type SecretBytes, type SecretText, wipeSecret, withSecretBytes } from './secret.ts';
export { type VisibleTextOptions, visibleText } from './visible-text.ts';
