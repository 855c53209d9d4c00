import { DEFAULT_LIMITS, type Limits, type SandboxProfile } from '@palyra/sandbox';

export type ProfileChanges = Partial<Omit<SandboxProfile, 'limits'>> & { readonly limits?: Partial<Limits> };

/** A workspace, and nothing else of the host: in Tier C unless a test says otherwise. */
export function sandboxProfile(root: string, { limits, ...changes }: ProfileChanges = {}): SandboxProfile {
  return {
    tier: 'C',
    workspace: { root, access: 'read-write' },
    readOnlyPaths: [],
    writablePaths: [],
    maskedPaths: [],
    executables: 'any',
    interpreters: 'allowed',
    egress: { mode: changes.tier === 'B' ? 'none' : 'strict', hosts: [] },
    toolchains: 'none',
    unixSockets: 'refused',
    limits: { ...DEFAULT_LIMITS, ...limits },
    mustHold: [],
    environment: [],
    startedFor: 'agent',
    ...changes,
  };
}
