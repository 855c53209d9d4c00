export type { AgentAct, AgentAnswer, AgentEvent, HookReply } from './agent-event.ts';
export { AGENTS_ERRORS, AgentsError, type AgentsErrorCode } from './agents-error.ts';
export type {
  AgentClient,
  AgentHooks,
  AgentProfile,
  FileEdit,
  HookSwitch,
  HookTrust,
  InstallOptions,
  OwnFile,
  TrustAnswer,
} from './client.ts';
export { CLIENT_NAMES, findClient } from './find-client.ts';
export { findWrapped, WRAP_PROFILES, type WrappedAgent, wrappedBy, wrappedHosts } from './find-wrapped.ts';
export { CANARY_TOOL, canaryMessage } from './hook-message.ts';
export { blocked } from './hook-reply.ts';
export { findOwnRule, type OwnVerdict } from './own-rules/find-own-rule.ts';
export type { ClientRules, OwnRule } from './own-rules/own-rule.ts';
export { hasOwnServer } from './own-server.ts';
export { readMessage } from './read-fields.ts';
export { namesAnotherServer, serverPlaces } from './server-places.ts';
export { pathsOf, upwards } from './settings-places.ts';
export { OWN_SERVER } from './tool-table.ts';
