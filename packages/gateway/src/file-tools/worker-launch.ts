import { dirname } from 'node:path';
import type { SandboxCommand, SandboxProfile } from '@palyra/sandbox';
import { workerProgram } from './stripped-worker.ts';

export interface WorkerLaunch {
  readonly command: SandboxCommand;
  readonly profile: SandboxProfile;
}

const MIB = 1024 * 1024;

/** A worker says so much and is replaced: the sandbox keeps what a command says for as long as it runs. */
export const WORKER_OUTPUT_BYTES: number = 32 * MIB;

/**
 * Of the profile of a workspace what a file worker needs: the workspace, our program and Node to read, no network, no
 * toolchains, no variables. Undefined for anything but Tier C, because only there the kernel answers for the paths.
 */
export function planWorkerLaunch(
  profile: SandboxProfile,
  nodePath: string = process.execPath,
): WorkerLaunch | undefined {
  // SECURITY: T-14, T-20 — without the wall a path is only as safe as our own checks: no wall, no worker.
  if (profile.tier !== 'C') return undefined;
  const program = workerProgram();
  return {
    command: { argv: [nodePath, ...NODE_FLAGS, program] },
    profile: {
      ...profile,
      readOnlyPaths: [...new Set([dirname(program), nodePath])],
      // SECURITY: T-14 — the workspace is all that it can write, whatever else other tools may.
      writablePaths: [],
      executables: 'any',
      interpreters: 'allowed',
      egress: { mode: 'strict', hosts: [] },
      toolchains: 'none',
      unixSockets: 'refused',
      environment: [],
      limits: {
        ...profile.limits,
        wallMs: 24 * 60 * 60_000,
        // It waits for requests in silence; who ends it is the pool.
        idleMs: 24 * 60 * 60_000,
        cpuMs: 60 * 60_000,
        memoryBytes: Math.min(profile.limits.memoryBytes, 1024 * MIB),
        fileBytes: Math.min(profile.limits.fileBytes, 64 * MIB),
        tmpfsBytes: Math.min(profile.limits.tmpfsBytes, MIB),
        // One answer may begin just below the mark.
        outputBytes: 3 * WORKER_OUTPUT_BYTES,
      },
    },
  };
}

const NODE_FLAGS: readonly string[] = [
  // Only the program's own directory is shown, without the package.json that says how to read it.
  '--disable-warning=MODULE_TYPELESS_PACKAGE_JSON',
  '--disable-warning=ExperimentalWarning',
  // SECURITY: T-17 — regular expressions that backtrack too much are finished by the engine that cannot.
  '--enable-experimental-regexp-engine',
  '--enable-experimental-regexp-engine-on-excessive-backtracks',
  '--regexp-backtracks-before-fallback=20000',
  '--max-old-space-size=512',
];
