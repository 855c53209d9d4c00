import type { ConnectRouter } from '@connectrpc/connect';
import { SkillService, StatusService, ToolService, VaultService, WorkspaceService } from '@palyra/api';
import { createStatusService, type StatusServiceDeps } from './status.ts';
import { createToolService, type ToolServiceDeps } from './tool.ts';
import { createWorkspaceService, type WorkspaceServiceDeps } from './workspace.ts';

/** What the services are made of. A service adds what it needs, and its line below. */
export type ServicesDeps = StatusServiceDeps & ToolServiceDeps & WorkspaceServiceDeps;

/** Everything that palyrad serves, on every listener that serves calls. */
export function registerServices(router: ConnectRouter, deps: ServicesDeps): void {
  router.service(StatusService, createStatusService(deps));
  router.service(ToolService, createToolService(deps));
  router.service(WorkspaceService, createWorkspaceService(deps));
  // Nothing of them is there yet: every call is answered with `unimplemented`.
  router.service(SkillService, {});
  router.service(VaultService, {});
}
