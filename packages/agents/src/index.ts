export type { AgentAct, AgentAnswer, AgentEvent, HookReply } from './agent-event.ts';
export { AGENTS_ERRORS, AgentsError, type AgentsErrorCode } from './agents-error.ts';
export type { AgentClient, AgentHooks, AgentProfile, FileEdit, InstallOptions, OwnFile } from './client.ts';
export { CLIENT_NAMES, findClient } from './find-client.ts';
export { findWrapped, WRAP_PROFILES, type WrappedAgent, wrappedBy } from './find-wrapped.ts';
export { CANARY_TOOL, canaryMessage } from './hook-message.ts';
export { blocked } from './hook-reply.ts';
export { readMessage } from './read-fields.ts';
