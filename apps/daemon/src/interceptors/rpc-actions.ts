import type { DescMethod } from '@bufbuild/protobuf';
import type { PolicyRequest } from '@palyra/policy';

/** What policy is asked before a call of the API is served. */
export interface RpcAction {
  /** One of the Cedar schema's. */
  readonly action: string;
  /** What kind of thing it is done to. */
  readonly on: PolicyRequest['resource']['type'];
  /** What a token must be for as well: policy knows the principal and not the token. */
  readonly tokensAlso?: string;
}

/**
 * Every call of palyra.v1 and its one action. A test fails when one is missing.
 * SECURITY: T-36 — a list of what is served: a call that is not on it is refused, whoever calls.
 */
export const RPC_ACTIONS: Readonly<Record<string, RpcAction>> = {
  'palyra.v1.RunService.RunStream': { action: 'run.start', on: 'Run', tokensAlso: 'tool.execute' },
  'palyra.v1.RunService.StartRun': { action: 'run.start', on: 'Run' },
  'palyra.v1.RunService.CallTool': { action: 'run.start', on: 'Run', tokensAlso: 'tool.execute' },
  'palyra.v1.RunService.WatchRun': { action: 'run.read', on: 'Run' },
  'palyra.v1.RunService.FeedCall': { action: 'run.start', on: 'Run', tokensAlso: 'tool.execute' },
  'palyra.v1.RunService.CollectCall': { action: 'run.start', on: 'Run', tokensAlso: 'tool.execute' },
  'palyra.v1.RunService.CancelCall': { action: 'run.cancel', on: 'Run' },
  'palyra.v1.RunService.CancelRun': { action: 'run.cancel', on: 'Run' },
  'palyra.v1.RunService.EndRun': { action: 'run.cancel', on: 'Run' },
  'palyra.v1.RunService.ListRuns': { action: 'run.read', on: 'Run' },
  'palyra.v1.RunService.GetRun': { action: 'run.read', on: 'Run' },
  'palyra.v1.RunService.GetCall': { action: 'run.read', on: 'Run' },
  'palyra.v1.RunService.UndoRun': { action: 'run.undo', on: 'Run' },
  'palyra.v1.RunService.StopAgents': { action: 'run.stop', on: 'Run' },
  'palyra.v1.ApprovalService.ListApprovals': { action: 'approval.list', on: 'Run' },
  'palyra.v1.ApprovalService.GetApproval': { action: 'approval.list', on: 'Run' },
  'palyra.v1.ApprovalService.WatchApprovals': { action: 'approval.list', on: 'Run' },
  'palyra.v1.ApprovalService.DraftDecision': { action: 'approval.decide', on: 'Run' },
  'palyra.v1.ApprovalService.RecordDecision': { action: 'approval.decide', on: 'Run' },
  'palyra.v1.GrantService.ListGrants': { action: 'grant.list', on: 'Session' },
  'palyra.v1.GrantService.RevokeGrant': { action: 'grant.revoke', on: 'Session' },
  'palyra.v1.PolicyService.GetPolicies': { action: 'policy.read', on: 'Workspace' },
  'palyra.v1.PolicyService.DiffPolicies': { action: 'policy.read', on: 'Workspace' },
  'palyra.v1.PolicyService.ApplyPolicies': { action: 'policy.apply', on: 'Workspace' },
  'palyra.v1.PolicyService.ExplainRequest': { action: 'policy.read', on: 'Workspace' },
  'palyra.v1.PolicyService.AllowRule': { action: 'policy.allow', on: 'Workspace' },
  'palyra.v1.PolicyService.ListRules': { action: 'policy.read', on: 'Workspace' },
  'palyra.v1.PolicyService.RemoveRule': { action: 'policy.allow', on: 'Workspace' },
  'palyra.v1.ToolService.ListTools': { action: 'tool.list', on: 'Workspace' },
  'palyra.v1.SkillService.ListSkills': { action: 'skill.list', on: 'Skill' },
  'palyra.v1.SkillService.InstallSkill': { action: 'skill.install', on: 'Skill' },
  'palyra.v1.SkillService.SetSkillState': { action: 'skill.enable', on: 'Skill' },
  'palyra.v1.SkillService.RemoveSkill': { action: 'skill.remove', on: 'Skill' },
  'palyra.v1.VaultService.PutSecret': { action: 'vault.put', on: 'Secret' },
  'palyra.v1.VaultService.ListSecrets': { action: 'vault.list', on: 'Secret' },
  'palyra.v1.VaultService.BindSecret': { action: 'vault.put', on: 'Secret' },
  'palyra.v1.VaultService.DeleteSecret': { action: 'vault.delete', on: 'Secret' },
  'palyra.v1.DeviceService.WhoAmI': { action: 'daemon.status', on: 'Workspace' },
  'palyra.v1.DeviceService.ListDevices': { action: 'device.list', on: 'Device' },
  'palyra.v1.DeviceService.RevokeDevice': { action: 'device.revoke', on: 'Device' },
  'palyra.v1.DeviceService.PairDevice': { action: 'device.pair', on: 'Device' },
  'palyra.v1.DeviceService.ConfirmPairing': { action: 'device.pair', on: 'Device' },
  'palyra.v1.DeviceService.CreateToken': { action: 'token.create', on: 'Workspace' },
  'palyra.v1.DeviceService.ListTokens': { action: 'token.list', on: 'Workspace' },
  'palyra.v1.DeviceService.RevokeToken': { action: 'token.revoke', on: 'Workspace' },
  'palyra.v1.JournalService.QueryEntries': { action: 'journal.read', on: 'Workspace' },
  'palyra.v1.JournalService.TailEntries': { action: 'journal.read', on: 'Workspace' },
  'palyra.v1.JournalService.GetCheckpoint': { action: 'journal.read', on: 'Workspace' },
  'palyra.v1.JournalService.GetBody': { action: 'journal.read', on: 'Workspace' },
  'palyra.v1.WorkspaceService.AddWorkspace': { action: 'workspace.add', on: 'Workspace' },
  'palyra.v1.WorkspaceService.ListWorkspaces': { action: 'workspace.list', on: 'Workspace' },
  'palyra.v1.WorkspaceService.RemoveWorkspace': { action: 'workspace.remove', on: 'Workspace' },
  'palyra.v1.StatusService.GetStatus': { action: 'daemon.status', on: 'Workspace' },
  'palyra.v1.StatusService.Shutdown': { action: 'daemon.stop', on: 'Workspace' },
};

/** By its full name, such as `palyra.v1.ToolService.ListTools`. */
export function rpcName({ parent, name }: Pick<DescMethod, 'parent' | 'name'>): string {
  return `${parent.typeName}.${name}`;
}
