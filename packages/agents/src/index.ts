export type { AgentAct, AgentAnswer, AgentEvent, HookReply } from './agent-event.ts';
export { AGENTS_ERRORS, AgentsError, type AgentsErrorCode } from './agents-error.ts';
export type {
  AgentClient,
  AgentHooks,
  AgentProfile,
  FileEdit,
  HookTrust,
  InstallOptions,
  OwnFile,
  TrustAnswer,
} from './client.ts';
export { CLIENT_NAMES, findClient } from './find-client.ts';
export { findWrapped, WRAP_PROFILES, type WrappedAgent, wrappedBy, wrappedHosts } from './find-wrapped.ts';
export { CANARY_TOOL, canaryMessage } from './hook-message.ts';
export { blocked } from './hook-reply.ts';
export { readMessage } from './read-fields.ts';
export { namesAnotherServer, serverPlaces } from './server-places.ts';
export { OWN_SERVER } from './tool-table.ts';
