import { AppError } from '@palyra/primitives';

/** Codes are API: add one, never rename one. */
export const GATEWAY_ERRORS = {
  'gateway.unknown_tool': 'There is no such tool, or this agent may not see it.',
  'gateway.invalid_input': 'The input is not what the tool takes.',
  'gateway.tool_not_allowed': 'The tool is not among those that the operator allows.',
  'gateway.budget_exhausted': 'The run has made as many calls as it may.',
  'gateway.too_many_runs': 'The principal has as many runs open as it may.',
  'gateway.too_many_calls': 'The principal has as many calls under way as it may.',
  'gateway.too_many_refusals': 'So many calls of the run were refused that it was ended.',
  'gateway.run_not_found': 'There is no such run of this credential.',
  'gateway.session_not_found': 'There is no such session of this credential.',
  'gateway.unsafe_workspace':
    'The folder cannot be a workspace: it is too wide, not there, or holds what no agent may reach.',
  'gateway.workspace_not_found': 'There is no such workspace, or the folder is not in one.',
  'gateway.workspace_ambiguous': 'There are several workspaces, and which one is not said.',
  'gateway.run_ended': 'The run is over, and takes no more calls.',
  'gateway.key_reused': 'The same key was used for another call.',
  'gateway.unknown_parent': 'The call names one that it is part of, and no such call is under way in the run.',
  'gateway.not_beside_others': 'The tool has to be alone in its run, and the one that calls it is not.',
  'gateway.not_delegated': 'The tool is one of an agent’s own, and no hook of an agent asks for it.',
  'gateway.forbidden_by_user': 'A rule of the agent’s user, in the agent’s own settings, does not allow it.',
  'gateway.not_collected': 'The call was permitted, and nobody came for it in time.',
  'gateway.client_failed': 'The agent’s own tool failed, as the agent reports.',
  'gateway.not_reported': 'The agent’s own tool was allowed, and what became of it was never reported.',
  'gateway.call_elsewhere': 'A call with this key is under way in another process, or was when that process ended.',
  'gateway.egress_denied': 'A host that the command names is not among those that it may reach (EgressDenied).',
  'gateway.approval_denied': 'A human refused.',
  'gateway.approval_expired': 'Nobody answered in time.',
  'gateway.approval_cancelled': 'The question was taken back.',
  'gateway.approval_pending': 'Nobody has answered yet; the same call with the same key asks again.',
  'gateway.approval_unusable': 'The approval does not hold for this call any more.',
  'gateway.changed_meanwhile': 'What was decided does not hold any more.',
  'gateway.cancelled': 'The run or the call was cancelled.',
  'gateway.not_recorded': 'The journal could not take the call, so it did not run.',
  'gateway.not_authorized': 'This credential may not do that.',
  'gateway.protected_in_box': 'A protected file stays as it is while an agent is wrapped in its workspace.',
  'gateway.call_not_found': 'There is no such call, or it is one of another credential.',
  'gateway.nothing_kept': 'Nothing of what the run did to files is kept here, so nothing can be put back.',
  'gateway.not_permitted': 'The call was not permitted, or ran already.',
  'gateway.invalid_config': 'What is configured for tool calls names something that nothing here could hold.',
  'gateway.invalid_catalog': 'A tool is not described as tools must be, or two have one name.',
  'gateway.fault': 'Something went wrong that is not the call’s fault; it did not run.',
  'gateway.tool_fault': 'The tool failed in a way that it should not; what it did until then is done.',
  'gateway.interrupted':
    'palyrad ended while the call ran: what it did until then is done, how far it came is not known.',
} as const;

export type GatewayErrorCode = keyof typeof GATEWAY_ERRORS;

export class GatewayError extends AppError<GatewayErrorCode> {}
