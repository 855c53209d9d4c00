import { dirname } from 'node:path';
import { DEFAULT_LIMITS, type SandboxCommand, type SandboxProfile } from '@palyra/sandbox';
import { wasmHostProgram } from '../file-tools/stripped-worker.ts';

export interface HostLaunch {
  readonly command: SandboxCommand;
  readonly profile: SandboxProfile;
}

const MIB = 1024 * 1024;
/** What Node itself, its heap and the compilers take beside the guest's memory. */
const OWN_BYTES: number = 768 * MIB;
const DAY_MS = 24 * 60 * 60_000;

/**
 * The box of a WASM host. SECURITY: T-28 — whoever breaks out of V8 is in it: our program and Node to read, no other file, no
 * network, no variables, nobody else's process, and a pipe to palyrad that believes nothing.
 */
export function planHostLaunch(memoryBytes: number, nodePath: string = process.execPath): HostLaunch {
  const program = wasmHostProgram();
  return {
    command: { argv: [nodePath, ...NODE_FLAGS, program] },
    profile: {
      tier: 'C',
      workspace: { root: dirname(program), access: 'read-only' },
      readOnlyPaths: [nodePath],
      writablePaths: [],
      maskedPaths: [],
      executables: 'any',
      interpreters: 'allowed',
      egress: { mode: 'strict', hosts: [] },
      toolchains: 'none',
      unixSockets: 'refused',
      limits: {
        ...DEFAULT_LIMITS,
        // It waits for calls in silence; who ends it is the pool.
        wallMs: DAY_MS,
        idleMs: DAY_MS,
        cpuMs: DAY_MS,
        memoryBytes: memoryBytes + OWN_BYTES,
        processes: 64,
        openFiles: 64,
        fileBytes: MIB,
        tmpfsBytes: MIB,
        // Retired long before; one answer may begin just below that mark.
        outputBytes: 256 * MIB,
      },
      mustHold: [],
      environment: [],
      startedFor: 'agent',
    },
  };
}

const NODE_FLAGS: readonly string[] = [
  // Only the program's own directory is shown, without the package.json that says how to read it.
  '--disable-warning=MODULE_TYPELESS_PACKAGE_JSON',
  '--disable-warning=ExperimentalWarning',
  // SECURITY: T-28 — no text becomes code in this process, whoever wrote it.
  '--disallow-code-generation-from-strings',
  '--disable-proto=throw',
  '--v8-pool-size=2',
];
