import type { ConnectRouter } from '@connectrpc/connect';
import {
  ApprovalService,
  DeviceService,
  GrantService,
  JournalService,
  PolicyService,
  RunService,
  SkillService,
  StatusService,
  ToolService,
  VaultService,
  WorkspaceService,
} from '@palyra/api';
import { type ApprovalServiceDeps, createApprovalService } from './approval.ts';
import { createDeviceService, type DeviceServiceDeps } from './device.ts';
import { createGrantService } from './grant.ts';
import { createJournalService, type JournalServiceDeps } from './journal.ts';
import { createPolicyFiles, type PolicyServiceDeps } from './policy.ts';
import { createPolicyRules, type PolicyRulesDeps } from './policy-rules.ts';
import { createRunCalls, type RunServiceDeps } from './run.ts';
import { createRunRecords, type RunRecordsDeps } from './run-records.ts';
import { createStatusService, type StatusServiceDeps } from './status.ts';
import { createToolService, type ToolServiceDeps } from './tool.ts';
import { createWorkspaceService, type WorkspaceServiceDeps } from './workspace.ts';

/** What the services are made of. A service adds what it needs, and its line below. */
export type ServicesDeps = ApprovalServiceDeps &
  DeviceServiceDeps &
  JournalServiceDeps &
  PolicyServiceDeps &
  PolicyRulesDeps &
  RunRecordsDeps &
  RunServiceDeps &
  StatusServiceDeps &
  ToolServiceDeps &
  WorkspaceServiceDeps;

/** Everything that palyrad serves, on every listener that serves calls. */
export function registerServices(router: ConnectRouter, deps: ServicesDeps): void {
  router.service(RunService, { ...createRunCalls(deps), ...createRunRecords(deps) });
  router.service(ApprovalService, createApprovalService(deps));
  router.service(GrantService, createGrantService(deps));
  router.service(PolicyService, { ...createPolicyFiles(deps), ...createPolicyRules(deps) });
  router.service(JournalService, createJournalService(deps));
  router.service(DeviceService, createDeviceService(deps));
  router.service(StatusService, createStatusService(deps));
  router.service(ToolService, createToolService(deps));
  router.service(WorkspaceService, createWorkspaceService(deps));
  // Nothing of them is there yet: every call is answered with `unimplemented`.
  router.service(SkillService, {});
  router.service(VaultService, {});
}

/** What an agent in a box is served: nothing that answers a question, or shows what others do. */
export function registerBoxServices(router: ConnectRouter, deps: RunServiceDeps & ToolServiceDeps): void {
  router.service(RunService, createRunCalls(deps));
  router.service(ToolService, createToolService(deps));
}
