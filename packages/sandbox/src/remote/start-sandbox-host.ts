import { spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { entryUrl } from '@palyra/primitives';
import type { HostUser } from '../become-user.ts';
import type { SandboxOptions } from '../create-sandbox.ts';
import { SandboxError } from '../sandbox-error.ts';
import { type ReachedSandbox, reachSandbox } from './reach-sandbox.ts';

export interface SandboxHostOptions extends Omit<SandboxOptions, 'now' | 'owner'> {
  /** Whose workspaces and whose tools. */
  readonly owner: HostUser;
}

export interface SandboxHost extends ReachedSandbox {
  readonly pid: number;
}

/**
 * The sandbox in a process of its own, which has the owner's rights, over a launcher that has root's. To be called by root,
 * which afterwards is not needed here any more. Throws what `createSandbox` throws, and `sandbox.unsafe_identity`.
 */
export async function startSandboxHost({ logger, ...opening }: SandboxHostOptions): Promise<SandboxHost> {
  if (process.geteuid?.() !== 0) {
    throw new SandboxError('sandbox.unsafe_identity', 'Only root can start tools for another user.', {
      fix: 'Start palyrad as root (systemd does): it gives that up at once.',
    });
  }
  const program = fileURLToPath(entryUrl(import.meta.url, './sandbox-host-program'));
  const child = spawn(process.execPath, [...flagsFor(program), program], {
    // SECURITY: T-40 — an inherited socket and no name, and nothing of our environment.
    stdio: ['ignore', 'inherit', 'inherit', 'pipe'],
    env: {},
    cwd: '/',
  });
  const channel = child.stdio[3] as Socket;
  const exited = new Promise<void>((resolve) => child.once('close', () => resolve()));
  child.once('error', () => channel.destroy());
  const { sandbox, lost } = await reachSandbox(channel, { opening, logger });
  return {
    pid: child.pid ?? 0,
    lost,
    sandbox: {
      ...sandbox,
      async close() {
        await sandbox.close();
        await exited;
      },
    },
  };
}

function flagsFor(program: string): readonly string[] {
  const sources = program.endsWith('.ts') ? ['--conditions=palyra-source'] : [];
  // SECURITY: T-40 — whoever has its uid may send it signals, and this one opens a debugger to everybody on the machine.
  return ['--disable-sigusr1', '--disable-warning=ExperimentalWarning', ...sources];
}
