import { DEFAULT_LIMITS, type SandboxProfile } from '@palyra/sandbox';

/** What commands of a workspace may do unless an operator says otherwise: everything in the box, nothing outside. */
export function workspaceProfile(workspace: string): SandboxProfile {
  return {
    tier: 'C',
    workspace: { root: workspace, access: 'read-write' },
    readOnlyPaths: [],
    writablePaths: [],
    maskedPaths: [],
    executables: 'any',
    interpreters: 'allowed',
    egress: { mode: 'strict', hosts: [] },
    toolchains: 'operator',
    unixSockets: 'refused',
    limits: DEFAULT_LIMITS,
    mustHold: [],
    environment: [],
    startedFor: 'agent',
  };
}
