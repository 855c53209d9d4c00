export { commitWithJournal } from './approval-drafts.ts';
export { type ApprovalRecord, createApprovalRecord } from './approval-record.ts';
export { createBuiltinTools } from './catalog/builtin-tools.ts';
export { type Catalog, createCatalog } from './catalog/create-catalog.ts';
export type {
  CallPlace,
  ExecuteContext,
  ExecutionFacts,
  Readiness,
  Tool,
  ToolMetadata,
  ToolPlan,
  ToolRefusal,
  ToolResult,
} from './catalog/tool.ts';
export type {
  BindCredentials,
  CallCredentials,
  CredentialQuestion,
  NamedSecret,
} from './connections/bound-credentials.ts';
export { DEFAULT_OPERATOR_NETWORK, type OperatorNetwork } from './connections/operator-network.ts';
export { createSecretUseRecord } from './connections/record-secret-use.ts';
export { createGateway, type Gateway, type GatewayDeps } from './create-gateway.ts';
export { createFileTools, type FileTools } from './file-tools/create-file-tools.ts';
export { GATEWAY_ERRORS, GatewayError, type GatewayErrorCode } from './gateway-error.ts';
export { createRedactor, type Redactor } from './redact/create-redactor.ts';
export {
  type AllowRequest,
  type AnsweredOutcome,
  createRememberedRules,
  type RememberedRule,
  type RememberedRules,
  type RememberedRulesDeps,
} from './rules/create-remembered-rules.ts';
export { recoverRules, type UnfinishedRule } from './rules/recover-rules.ts';
export type { RuleOutcome } from './rules/write-rule.ts';
export type { ClientReport, ClientReports } from './runners/delegated/client-report.ts';
export type { DelegatedAct } from './runners/delegated/delegated-facts.ts';
export type { DelegatedInput } from './runners/delegated/delegated-input.ts';
export { createDelegatedTools } from './runners/delegated/delegated-tools.ts';
export type { RunRequest } from './runs/create-runs.ts';
export type { AdoptedRun, Run, RunFollower } from './runs/own-run.ts';
export type { ApprovalView, BodyView, CallPage, ConnectionView, DecisionView, OutcomeView } from './runs/read-call.ts';
export type { CallLine, CallsPage, RunsQuery, RunView, ShownRun } from './runs/read-runs.ts';
export type { KnownRun, ToldCall } from './runs/read-told.ts';
export type { SaidApproval } from './runs/said-approval.ts';
export { type SeenAgent, seenAgents } from './runs/seen-agents.ts';
export type { StoppedRuns, StopRequest } from './runs/stop-runs.ts';
export { firstNumber, lastNumber } from './runs/told-numbers.ts';
export type { UndoneFile, UndoneRun, UndoRunRequest } from './runs/undo-run.ts';
export { gatewayPrograms } from './store/gateway-programs.ts';
export { GATEWAY_MIGRATIONS, type GatewaySchema } from './store/gateway-schema.ts';
export type { PermittedCall } from './tool-call/permitted-call.ts';
export type { CallEvent, Caller, ProposedCall, ToldPlace, Workspace } from './tool-call/proposed-call.ts';
export type { ToolCallResult } from './tool-call/tool-call-result.ts';
export { DEFAULT_TOOL_CALL_CONFIG, isAllowedTool, type ToolCallConfig } from './tool-call-config.ts';
export { AGENT_RUN, type AgentOutfit, type AgentRunDeps, programRoot } from './tools/agent-run.ts';
export type { AttachedInput, AttachedSource } from './tools/attached-input.ts';
export { createKeptChanges, type KeptChanges } from './tools/kept-changes.ts';
export type { OpenedSession } from './tools/process-run.ts';
export type { WasmTools } from './tools/wasm-answers.ts';
export { WASM_OUTCOMES } from './tools/wasm-result.ts';
export { createWasmSecrets, type WasmSecrets } from './wasm-hosts/guest-secrets.ts';
export type { LoadedModule } from './wasm-hosts/loaded-module.ts';
export { startWasmHost, type WasmHostAbout } from './wasm-hosts/start-wasm-host.ts';
export { createWasmFetch } from './wasm-hosts/wasm-fetch.ts';
export {
  openWorkspaces,
  type RegisteredWorkspace,
  type Workspaces,
  type WorkspacesDeps,
} from './workspaces/open-workspaces.ts';
