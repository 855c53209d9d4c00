import type { SandboxProfile } from '@palyra/sandbox';
import { type Daemon, startDaemon } from './sandbox-daemon.ts';
import { type Place, sh } from './sandboxed.ts';

/** A daemon in which sandboxes wait for the next command of this profile. */
export async function warmDaemon(
  place: Place,
  profile: SandboxProfile,
  options: Parameters<typeof startDaemon>[1] = {},
): Promise<Daemon & AsyncDisposable> {
  const daemon = await startDaemon(place, { pool: {}, ...options });
  // Two commands make it hot.
  for (let run = 0; run < 2; run += 1) await daemon.run(sh('true'), profile);
  const waiting = await daemon.warmed();
  if (waiting === 0) throw new Error('Nothing waits for the next command.');
  return { ...daemon, [Symbol.asyncDispose]: () => daemon.close() };
}
