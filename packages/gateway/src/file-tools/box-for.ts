import { join } from 'node:path';
import { PROTECTED_NAMES, type SandboxProfile } from '@palyra/sandbox';
import { FILE_TOOLS } from './file-tool-list.ts';
import { compileGlob, type Glob } from './worker/glob.ts';
import type { AllowedProtected } from './worker/protected-paths.ts';
import type { WorkerRequest } from './worker/protocol.ts';

/**
 * Of a workspace's profile what one request needs. What only reads gets a workspace that can only be read. What writes may
 * write the protected files that were approved, and no others: the sandbox holds it to them, as any command.
 */
export function boxFor(profile: SandboxProfile, act: WorkerRequest['act'], allowed: AllowedProtected): SandboxProfile {
  const { root } = profile.workspace;
  if (isReading(act)) return { ...profile, workspace: { root, access: 'read-only' } };
  // SECURITY: T-15 — no more than that: what is lifted for one is left alone in others that run at the same time.
  const opened = allowed === true ? [root] : (allowed || []).map((path) => join(root, heldWith(path)));
  if (opened.length === 0) return profile;
  return { ...profile, protection: { lifted: [...new Set([...(profile.protection?.lifted ?? []), ...opened])] } };
}

/** The sandbox holds some directories as a whole; such a one is lifted as a whole, or nothing in it. */
function heldWith(path: string): string {
  const names = path.split('/');
  const prefixes = names.map((_, at) => names.slice(0, at + 1).join('/'));
  return prefixes.find((prefix) => HELD.some((isHeld) => isHeld(prefix.normalize('NFKC').toLowerCase()))) ?? path;
}

const HELD: readonly Glob[] = [...PROTECTED_NAMES.map(({ name }) => name.toLowerCase()), '*.git/hooks'].flatMap(
  (name) => compileGlob(`**/${name}`) ?? [],
);

function isReading(act: WorkerRequest['act']): boolean {
  if (act.kind === 'inspect') return true;
  return (
    act.kind === 'run' && FILE_TOOLS.some(({ name, capabilities }) => name === act.tool && capabilities.length === 0)
  );
}
