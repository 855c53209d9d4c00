import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { SandboxError } from '../sandbox-error.ts';

/** Where a probe works: its own, and gone afterwards. */
export interface ProbePlace {
  readonly workspace: string;
  /** A file beside the workspace that everybody may read: only a wall hides it. */
  readonly outside: string;
  /** In no other process's arguments. */
  readonly mark: string;
  remove(): void;
}

/** Throws `sandbox.start_failed`. */
export function makeProbePlace(temporaryDirectory: string): ProbePlace {
  const root = makeRoot(temporaryDirectory);
  const remove = () => rmSync(root, { recursive: true, force: true });
  // Whoever interrupts a probe ends the process, and then nothing else runs.
  process.once('exit', remove);
  const workspace = join(root, 'workspace');
  const outside = join(root, 'outside');
  mkdirSync(workspace, { mode: 0o700 });
  writeFileSync(outside, 'Nobody in a sandbox reads this.\n');
  // A tool of another user must get to its workspace, and to nothing else by its directory's permissions alone.
  chmodSync(outside, 0o644);
  chmodSync(root, 0o711);
  return {
    workspace,
    outside,
    mark: basename(root),
    remove() {
      process.off('exit', remove);
      remove();
    },
  };
}

function makeRoot(temporaryDirectory: string): string {
  try {
    return mkdtempSync(join(realpathSync(temporaryDirectory), 'palyra-probe-'));
  } catch (cause) {
    throw new SandboxError('sandbox.start_failed', 'There is no room for a workspace to probe with.', {
      fix: 'Make the directory for temporary files writable (TMPDIR names it).',
      cause,
    });
  }
}
