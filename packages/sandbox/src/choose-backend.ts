import { JOB_OBJECT_EXECUTOR, WSL_FIX } from './backends/jobobject/plan.ts';
import { SEATBELT_EXECUTOR } from './backends/seatbelt/plan.ts';
import type { SandboxProfile } from './profile.ts';
import type { Refusal } from './run-result.ts';

/** A folder below `backends/`. */
export type Backend = 'bubblewrap' | 'limits' | 'seatbelt' | 'jobobject';

export type BackendChoice = { readonly kind: 'chosen'; readonly backend: Backend } | Refusal;

/** Which backend plans a profile on a platform (`process.platform`). SECURITY: T-20 — never one of a weaker tier. */
export function chooseBackend(platform: string, { tier }: Pick<SandboxProfile, 'tier'>): BackendChoice {
  switch (platform) {
    case 'linux':
      return { kind: 'chosen', backend: tier === 'C' ? 'bubblewrap' : 'limits' };
    case 'darwin':
      if (tier === 'C') return { kind: 'chosen', backend: 'seatbelt' };
      return unsupported('There is no Tier B on macOS.', 'Use Tier C.');
    case 'win32':
      if (tier === 'B') return { kind: 'chosen', backend: 'jobobject' };
      return unsupported('There is no Tier C on Windows: nothing there is a wall.', WSL_FIX);
    default:
      return unsupported('There is no sandbox for this system.', 'Run palyrad on Linux.');
  }
}

/** Undefined where commands can be run. Elsewhere there are plans to look at, and no launcher to carry them out. */
export function refuseToRun(backend: Backend): Refusal | undefined {
  switch (backend) {
    case 'bubblewrap':
    case 'limits':
      return undefined;
    case 'seatbelt':
      return noLauncher('macOS', SEATBELT_EXECUTOR, 'Run palyrad on Linux: in a virtual machine, or on another host.');
    case 'jobobject':
      return noLauncher('Windows', JOB_OBJECT_EXECUTOR, WSL_FIX);
  }
}

function noLauncher(system: string, executor: string, fix: string): Refusal {
  return {
    kind: 'refused',
    code: 'sandbox.launcher_missing',
    message: `Commands are planned on ${system} (${executor}), and not run: there is no launcher for it.`,
    fix,
  };
}

function unsupported(message: string, fix: string): Refusal {
  return { kind: 'refused', code: 'sandbox.unsupported', message, fix };
}
