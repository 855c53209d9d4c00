import { AppError } from '@palyra/primitives';

/** Codes are API: add one, never rename one. */
export const SANDBOX_ERRORS = {
  'sandbox.argument_refused': 'An argument of the command reaches outside the workspace or starts another program.',
  'sandbox.changed_since_approved': 'What would run is not what was approved.',
  'sandbox.enforcement_failed':
    'The sandbox that was started is not the one that was planned, so nothing was run in it.',
  'sandbox.executable_not_allowed': 'The profile does not allow this program.',
  'sandbox.executable_not_found': 'There is no such program in the sandbox.',
  'sandbox.gate_closed': 'The process that stands between a tool and the network is not there.',
  'sandbox.interpreter_refused': 'The command runs code that it brings along, and the profile does not allow that.',
  'sandbox.invalid_command': 'The command is malformed.',
  'sandbox.invalid_profile': 'The profile is malformed or contradicts itself.',
  'sandbox.launcher_failed': 'The launcher ended or gave no answer.',
  'sandbox.launcher_missing': 'There is no launcher for this machine.',
  'sandbox.not_begun': 'The sandbox was ready, and whoever asked for it did not let its command begin.',
  'sandbox.not_bindable': 'What would run cannot be tied to its bytes.',
  'sandbox.overloaded': 'Too many commands are running.',
  'sandbox.protected_root': 'What the tool may write is a protected path, or lies in one.',
  'sandbox.start_failed': 'The command could not be started.',
  'sandbox.unsafe_identity': 'The tool would run as root, or with groups that it must not have.',
  'sandbox.unsafe_workspace': 'The workspace is too wide, or holds what a tool must not reach.',
  'sandbox.unsupported': 'This host cannot enforce what the profile demands.',
  'sandbox.workspace_busy': 'A command that may write protected paths has to be alone in its workspace.',
} as const;

export type SandboxErrorCode = keyof typeof SANDBOX_ERRORS;

export class SandboxError extends AppError<SandboxErrorCode> {}
