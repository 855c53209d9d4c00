import { chmod, chown, mkdtemp } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Logger } from '@palyra/primitives';
import { DEFAULT_LIMITS, type OperatorPlaces, type RunResult, type SandboxProfile } from '@palyra/sandbox';
import { directoryOnDisk } from './raw-appends.ts';

export interface SandboxPlace {
  /** Ours, in the checkout: settings and homes of rivals, and what raw bubblewrap reads. */
  readonly directory: string;
  readonly workspace: string;
  /** Whose workspace it is, if we are root: then every contender that can runs its command as that user. */
  readonly owner: number | undefined;
}

export const COMMAND = '/bin/true';

/** Nobody has it, and it is no one's range for user namespaces. */
const OWNER = 71_234;

/** Only the system's programs: others may lie where only root can enter, and raw bubblewrap could not follow us there. */
export const OPERATOR: OperatorPlaces = {
  path: '/usr/local/bin:/usr/bin:/bin',
  home: homedir(),
  palyraHome: join(homedir(), '.palyra'),
  environment: {},
};

export const quiet: Pick<Logger, 'error'> = { error: (...said: unknown[]) => console.error(...said) };

export async function makePlace(): Promise<SandboxPlace> {
  // Not in the checkout, which may lie below a directory that only root can enter.
  const workspace = await mkdtemp(join(tmpdir(), 'palyra-bench-workspace-'));
  await chmod(workspace, 0o755);
  const owner = process.getuid?.() === 0 ? OWNER : undefined;
  if (owner !== undefined) await chown(workspace, owner, owner);
  return { directory: await directoryOnDisk(), workspace, owner };
}

export function profileOf(tier: SandboxProfile['tier'], root: string): SandboxProfile {
  return {
    tier,
    workspace: { root, access: 'read-write' },
    readOnlyPaths: [],
    writablePaths: [],
    maskedPaths: [],
    executables: 'any',
    interpreters: 'allowed',
    egress: { mode: tier === 'C' ? 'strict' : 'none', hosts: [] },
    toolchains: 'operator',
    unixSockets: 'refused',
    limits: DEFAULT_LIMITS,
    mustHold: [],
    environment: [],
    startedFor: 'agent',
  };
}

export function succeeded(result: RunResult): void {
  if (result.kind === 'completed' && result.exitCode === 0) return;
  const why = result.kind === 'refused' || result.kind === 'failed_to_start' ? `: ${result.message}` : '';
  throw new Error(`The command was ${result.kind}${why}`);
}
